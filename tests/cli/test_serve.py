"""The resident compiler: the same bytes, messages and exit codes as a direct call; only for its user; never needed."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orias.cli.client import is_private

PTX = Path(__file__).parents[2] / "examples" / "saxpy.ptx"
pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="sockets do not name their user here")


def environment(path: Path) -> dict[str, str]:
    return {**os.environ, "ORIAS_SERVER": str(path), "PYTHONPATH": str(PTX.parents[1])}


def orias(path: Path | None, *arguments: str, folder: Path, text: str = "") -> tuple[int, str, str]:
    e = environment(path) if path else {k: v for k, v in environment(folder).items() if k != "ORIAS_SERVER"}
    command = [sys.executable, "-m", "orias", *arguments]
    done = subprocess.run(
        command, env=e, cwd=folder, input=text, capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("serve")
    folder.chmod(0o700)
    path = folder / "s"
    process = subprocess.Popen([sys.executable, "-m", "orias", "serve", "--idle", "600"], env=environment(path))
    deadline = time.monotonic() + 240
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    yield path
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def served(path: Path) -> bool:
    """True if somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        try:
            s.connect(str(path))
        except OSError:
            return False
    return True


def test_the_socket_is_the_users_alone(server: Path) -> None:
    assert stat.S_IMODE(server.stat().st_mode) == 0o600
    assert is_private(str(server.parent))


COMMANDS = [
    ["-arch=sm_80", "-v", str(PTX), "-o", "a.cubin"],
    ["-arch=sm_90", "-", "-o", "a.cubin"],
    ["-arch=sm_90", "missing.ptx"],
    ["-arch=sm_90", "-ias", ".version 9.9", "-o", "a.cubin"],
    ["--list-version"],
    ["-arch=sm_9"],
    ["dis", "missing"],
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arguments", COMMANDS, ids=[" ".join(c)[-30:] for c in COMMANDS])
def test_as_a_direct_call(server: Path, arguments: list[str], tmp_path: Path) -> None:
    found = []
    for path in (None, server):
        code, out, err = orias(path, *arguments, folder=tmp_path, text=PTX.read_text())
        lines = [line for line in err.splitlines() if "Compile time" not in line]
        cubin = tmp_path / "a.cubin"
        found.append((code, out, lines, cubin.read_bytes() if cubin.exists() else b""))
        cubin.unlink(missing_ok=True)
    assert found[0] == found[1]
    assert served(server)


def test_the_resident_process_does_the_work(server: Path, tmp_path: Path) -> None:
    """A client whose Python cannot load the compiler still compiles."""
    code = (
        "import sys, types\n"
        "sys.modules['orias.cli.drive'] = sys.modules['orias.cli.door'] = None\n"
        "from orias.__main__ import main\n"
        f"sys.argv = ['orias', '-arch=sm_80', {str(PTX)!r}, '-o', 'a.cubin']\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, env=environment(server), cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "a.cubin").read_bytes()[:4] == b"\x7fELF"


def test_without_a_server_the_client_compiles(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    code, _, err = orias(tmp_path / "none", "-arch=sm_80", str(PTX), "-o", "a.cubin", folder=tmp_path)
    assert (code, err) == (0, "")
    assert (tmp_path / "a.cubin").stat().st_size


def test_a_folder_of_others_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert not is_private(str(tmp_path))
    code, _, err = orias(tmp_path / "s", "serve", folder=tmp_path)
    assert code == 255 and "not a folder that only you can write to" in err


def test_an_idle_server_ends(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    code, _, err = orias(tmp_path / "s", "serve", "--idle", "0.01", folder=tmp_path)
    assert (code, err) == (0, "") and not (tmp_path / "s").exists()


def test_a_second_server_is_refused(server: Path, tmp_path: Path) -> None:
    code, _, err = orias(server, "serve", folder=tmp_path)
    assert code == 255 and "answers at" in err
