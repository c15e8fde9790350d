"""The compiled client of the resident compiler: the same request and the same ends as the client in Python."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from orias.cli import client
from orias.cli.toolkit_command import first_line, script

SOURCE = Path(client.__file__).with_name("server_client.c")
CC = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="sockets do not name their user here"),
    pytest.mark.skipif(CC is None, reason="no C compiler"),
]
TOLD = "import sys; print(sys.argv[1:]); sys.exit(3)"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of the package, with the compiled client in it."""
    folder = tmp_path_factory.mktemp("installed") / "orias"
    (folder / "cli").mkdir(parents=True)
    assert CC is not None
    command = [CC, "-O2", "-Wall", "-Wextra", "-Werror", str(SOURCE), "-o", str(folder / "cli" / "server_client")]
    subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture
def program(package: Path, tmp_path: Path) -> Path:
    """A script for the client, which does something else than a compile if Python runs it."""
    path = tmp_path / "ptxas"
    path.write_text(f"#!{package}/cli/server_client {sys.executable}\n{TOLD}\n")
    path.chmod(0o755)
    tmp_path.chmod(0o700)
    return path


def run(program: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    e = {k: v for k, v in os.environ.items() if k not in ("ORIAS_SERVER", "XDG_RUNTIME_DIR")} | settings
    done = subprocess.run([program, *arguments], env=e, cwd=program.parent, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout


class Listener:
    """Takes one request at a socket and answers it."""

    def __init__(self, path: Path, answer: bytes) -> None:
        self.text = ""
        self.files: list[int] = []
        self.answer = answer
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(str(path))
        self.socket.listen(1)
        self.socket.settimeout(60)
        self.thread = threading.Thread(target=self.take)
        self.thread.start()

    def take(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            head, files, _, _ = socket.recv_fds(connection, 8, 3)
            self.files = files
            body = b""
            while len(body) < int.from_bytes(head, "little"):
                body += connection.recv(1 << 16)
            self.text = body.decode("utf-8", "surrogateescape")
            os.write(files[1], b"from the server\n")
            connection.sendall(self.answer)
        for fd in files:
            os.close(fd)
        self.socket.close()


@pytest.mark.parametrize("said", ["1", "a path"])
def test_a_server_runs_the_command(said: str, package: Path, program: Path) -> None:
    place = package.stat()
    folder = program.parent / (f"orias-{os.getuid()}" if said == "1" else "own")
    folder.mkdir(mode=0o700)
    path = folder / f"{place.st_dev:x}-{place.st_ino:x}.socket"
    listener = Listener(path, b"\x07")
    settings = {
        "ORIAS_SERVER": said if said == "1" else str(path),
        "XDG_RUNTIME_DIR": str(program.parent),
        "LONG": "x" * 100_000,
    }
    found = run(program, "-arch=sm_80", "ä b", "", **settings)
    listener.thread.join(60)
    assert found == (7, "from the server\n") and len(listener.files) == 3
    mask = os.umask(0)
    os.umask(mask)
    parts = listener.text.split("\0")
    assert parts[:7] == [str(program.parent), str(mask), "4", str(program), "-arch=sm_80", "ä b", ""]
    assert parts[7:] == [
        f"{k}={v}"
        for k, v in {
            **{k: v for k, v in os.environ.items() if k not in ("ORIAS_SERVER", "XDG_RUNTIME_DIR")},
            **settings,
        }.items()
    ]


def test_python_runs_the_script(program: Path) -> None:
    """No server is asked for, none is there, one ends without an answer, others can write to its folder, or it would run itself."""
    plain = (3, "['-v', 'a b']\n")
    assert run(program, "-v", "a b") == plain
    path = program.parent / "s"
    assert run(program, "-v", "a b", ORIAS_SERVER=str(path)) == plain
    assert run(program, "-v", "a b", ORIAS_SERVER="1") == plain
    assert run(program, "-v", "a b", ORIAS_SERVER=str(program.parent / ("long" * 50))) == plain
    listener = Listener(path, b"")
    assert run(program, "-v", "a b", ORIAS_SERVER=str(path)) == (3, "from the server\n" + plain[1])
    listener.thread.join(60)
    path.unlink()
    listener = Listener(path, b"\x07")
    program.parent.chmod(0o777)
    assert run(program, "-v", "a b", ORIAS_SERVER=str(path)) == plain
    program.parent.chmod(0o700)
    for tool in client.ALONE:
        assert run(program, tool, ORIAS_SERVER=str(path)) == (3, f"['{tool}']\n")
    assert run(program, ORIAS_SERVER=str(path)) == (7, "from the server\n")
    listener.thread.join(60)


def test_an_interpreter_that_is_gone(package: Path, program: Path) -> None:
    program.write_text(f"#!{package}/cli/server_client {program.parent}/python\n")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (127, "")
    assert (
        done.stderr == f"{program} fatal   : '{program.parent}/python' cannot be started: No such file or directory\n"
    )


def test_a_toolkit_begins_with_the_client(package: Path, tmp_path: Path) -> None:
    there = Path("/x/orias/cli/server_client")
    assert first_line("/usr/bin/python3", there) == "/usr/bin/python3"
    link = tmp_path / "c"
    link.symlink_to(package / "cli" / "server_client")
    assert script(first_line("/usr/bin/python3", link)).splitlines()[0] == f"#!{link} /usr/bin/python3"
    assert first_line("/usr/bin/" + "p" * 120, link) == "/usr/bin/" + "p" * 120
