"""Opens what torch.save wrote: ``weights_only=True`` always, mapped where the format allows it, nothing copied."""

from __future__ import annotations

import pickletools
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch

from autograd_inspector.capture.checkpoint_files.scanning import scan_legacy, scan_zip
from autograd_inspector.capture.checkpoint_files.values import HostileError, UnreadError
from autograd_inspector.capture.torch_private.tensors import storage_key
from autograd_inspector.model.checkpoint import CheckpointError

Locations = dict[int, str]
"""Storage -> the device it was saved from."""

LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""How a file begins that torch.save wrote before version 1.6: the pickled ``torch.serialization.MAGIC_NUMBER``."""
_GLOBAL = re.compile(r"GLOBAL (\S+)")
_SCANNED = 1_000_000
"""Opcodes of a foreign pickle that are looked at."""


def load_zip(path: Path) -> tuple[Any, Locations]:
    """The objects of a zip that torch.save wrote, mapped; raises CheckpointError for any other zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            _recognise(path, archive)
            root = archive.infolist()[0].filename.partition("/")[0]
            _scanned(path, lambda: scan_zip(path, archive, root))
    except CheckpointError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, struct.error):
        raise CheckpointError(
            f"{path} is cut short or damaged: a zip whose directory is missing or broken; copy or download it again"
        ) from None
    return _load(path, mmap=True)


def _recognise(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise CheckpointError for a zip that is something else."""
    members = {member.filename.partition("/")[2]: member for member in archive.infolist()}
    if "constants.pkl" in members:
        raise CheckpointError(
            f"{path} is a TorchScript program, not a checkpoint; "
            "torch.save(torch.jit.load(path).state_dict(), ...) makes a checkpoint from it"
        )
    if "data.pkl" not in members:
        raise CheckpointError(f"{path} is a zip that torch.save did not write: it has no data.pkl")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
        raise CheckpointError(
            f"{path} is a compressed zip, which torch.save never writes: unpack it, or save the checkpoint again"
        )


def load_legacy(path: Path) -> tuple[Any, Locations]:
    """The objects of a file of before torch 1.6, which cannot be mapped; raises CheckpointError."""
    _scanned(path, lambda: scan_legacy(path))
    return _load(path, mmap=False)


def _scanned(path: Path, scan: Callable[[], None]) -> None:
    """Before torch is given the file: refuse one that asks for more than it holds."""
    try:
        scan()
    except UnreadError:
        return
    except HostileError as failure:
        raise CheckpointError(f"{path} {failure}: refused, nothing was loaded") from None
    except (EOFError, KeyError, IndexError):
        raise CheckpointError(
            f"{path} is cut short or damaged: it ends before its declared contents; copy or download it again"
        ) from None


def refuse_pickle(path: Path) -> NoReturn:
    """A pickle that torch.save did not write: say what it would have imported; nothing of it is run."""
    named = next(_globals(path), "")
    if named:
        raise CheckpointError(
            f"{path} is a plain pickle that wants to call `{named}`: refused, nothing was run; "
            "a checkpoint is written with torch.save(model.state_dict(), path)"
        )
    raise CheckpointError(
        f"{path} is a plain pickle that torch.save did not write; write it with torch.save(model.state_dict(), path)"
    )


def _load(path: Path, *, mmap: bool) -> tuple[Any, Locations]:
    locations: Locations = {}

    def keep(storage: Any, location: str) -> Any:
        locations[storage_key(storage)] = str(location)
        return storage

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(path, map_location=keep, weights_only=True, mmap=mmap), locations
    except Exception as failure:
        raise _explained(path, failure) from None


def _explained(path: Path, failure: Exception) -> CheckpointError:
    """Torch's many lines in one."""
    text = str(failure)
    refused = _GLOBAL.search(text)
    if refused is not None:
        name = refused[1].rstrip(".,")
        if name.startswith(("torch.nn.modules.", "__main__.")):
            what = "it holds a whole module or class, not tensors: save model.state_dict() instead of model"
        elif "blocked" in text:
            what = "do not load this file with weights_only=False"
        else:
            what = (
                f"save plain numbers and strings instead, or, if you trust the file, import its module and call "
                f"torch.serialization.add_safe_globals([{name}]) first"
            )
        return CheckpointError(f"{path} wants to import `{name}`: refused, nothing was run; {what}")
    if "Unsupported operand" in text or "unsupported pickle" in text.lower():
        return CheckpointError(
            f"{path} has pickle opcodes that weights_only=True does not read; save it with torch.save and its default "
            "pickle_protocol"
        )
    return CheckpointError(
        f"{path} is cut short or damaged: torch.load(weights_only=True) failed with {type(failure).__name__}: "
        f"{one_line(text)}"
    )


def one_line(text: str, longest: int = 200) -> str:
    """The text without line breaks, cut."""
    joined = " ".join(text.split())
    return joined if len(joined) <= longest else f"{joined[:longest]} …"


def _globals(path: Path) -> Iterator[str]:
    """``module.name`` of everything that a pickle would import; read opcode by opcode, nothing is run."""
    strings: list[str] = []
    with path.open("rb") as file:
        try:
            for seen, (opcode, argument, _) in enumerate(pickletools.genops(file)):
                if seen > _SCANNED:
                    return
                if opcode.name in {"GLOBAL", "INST"}:
                    yield one_line(str(argument).replace(" ", "."))
                elif opcode.name == "STACK_GLOBAL":
                    yield one_line(".".join(strings[-2:]))
                elif "UNICODE" in opcode.name or "STRING" in opcode.name:
                    strings = [*strings[-1:], str(argument)[:200]]
        except Exception:
            return
