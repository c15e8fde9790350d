"""What the driver reports of the devices that ``ORIAS_DEVICE`` names."""

import os
from typing import Final, NamedTuple

from orias.driver.library import DATA

DEFAULT: Final = "H100"


class Device(NamedTuple):
    """A device: its name as users write it and as the driver reports it, memory in bytes, attributes by number."""

    key: str
    name: str
    memory: int
    attributes: dict[int, int]

    @property
    def uuid(self) -> bytes:
        """16 bytes made from the name."""
        return f"orias-{self.key}".encode().ljust(16, b"\0")

    @property
    def sm(self) -> int:
        """Compute capability as one number (90)."""
        return 10 * self.attributes[75] + self.attributes[76]


def devices() -> dict[str, Device]:
    """All devices by name."""
    rows = [
        line.split()
        for line in (DATA / "devices.txt").read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]
    keys = rows[0][1:]
    columns = {row[0]: row[1:] if len(row) > 2 else row[1:] * len(keys) for row in rows[1:]}
    return {
        key: Device(
            key,
            columns["full"][i].replace("_", " "),
            int(columns["megabytes"][i]) << 20,
            {int(number): int(values[i]) for number, values in columns.items() if number.isdigit()},
        )
        for i, key in enumerate(keys)
    }


def chosen() -> Device:
    """The device of this process; ValueError if ``ORIAS_DEVICE`` names none."""
    known = devices()
    key = os.environ.get("ORIAS_DEVICE") or DEFAULT
    if key.upper() not in known:
        raise ValueError(f"ORIAS_DEVICE={key}: there are {', '.join(known)}")
    return known[key.upper()]
