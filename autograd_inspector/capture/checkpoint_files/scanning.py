"""Whether a file may be given to ``torch.load``: nothing in it asks for more than it holds."""

from __future__ import annotations

import mmap
import struct
import zipfile
from pathlib import Path

from autograd_inspector.capture.checkpoint_files.calls import Calls
from autograd_inspector.capture.checkpoint_files.pickle_machine import Machine
from autograd_inspector.capture.checkpoint_files.values import HostileError

_END = b"PK\x05\x06"
_END_SIZE, _FAR_SIZE = 22, 20
_FAR = 0xFFFFFFFF
"""Too large a number for its field: the real one is elsewhere."""
_PICKLES = 5
"""In a file of before torch 1.6: the magic number, the protocol, the system, the objects, the storages' order."""


def scan_zip(path: Path, archive: zipfile.ZipFile, root: str) -> None:
    """Go through the pickle of a zip whose folder is ``root``; raises HostileError, or EOFError for one cut short."""
    size = path.stat().st_size
    names = [member.filename.casefold() for member in archive.infolist()]  # torch's reader takes no heed of case.
    if len(set(names)) != len(names):
        raise HostileError("is a zip with two entries of the same name")
    records = {}
    for member in archive.infolist():
        if member.header_offset + member.file_size > size or member.file_size != member.compress_size:
            raise EOFError
        records[member.filename.removeprefix(f"{root}/data/").encode()] = member.file_size
    if archive.comment or archive.start_dir != _directory(path, size):
        raise HostileError("is a zip with data before or after it")
    data = archive.read(f"{root}/data.pkl")
    Machine(data, Calls(size, records), size).run(0)


def scan_legacy(path: Path) -> None:
    """Go through all pickles of a file of before torch 1.6; raises HostileError, or EOFError for one cut short."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        machine = Machine(data, Calls(len(data), None), len(data))
        at = 0
        for _ in range(_PICKLES):
            at = machine.run(at)


def _directory(path: Path, size: int) -> int:
    """Where a zip says that its directory begins. Readers of zips look for that in several places: here in one."""
    with path.open("rb") as file:
        file.seek(max(size - _END_SIZE - _FAR_SIZE, 0))
        tail = file.read()
        end = tail[-_END_SIZE:]
        if not end.startswith(_END):
            raise EOFError
        (start,) = struct.unpack("<I", end[16:20])
        if start != _FAR or not tail.startswith(b"PK\x06\x07"):
            return int(start)
        file.seek(struct.unpack("<Q", tail[8:16])[0] + 48)
        return int(struct.unpack("<Q", file.read(8))[0])
