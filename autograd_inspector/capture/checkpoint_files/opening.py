"""Opens a checkpoint and reads its metadata: names, shapes, dtypes, devices. Nothing is loaded, nothing is run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from msgspec.structs import replace
from torch import nn
from torch.optim import Optimizer

from autograd_inspector.capture.checkpoint_files.files import (
    LEGACY,
    Locations,
    load_legacy,
    load_zip,
    one_line,
    refuse_pickle,
)
from autograd_inspector.capture.checkpoint_files.layout import Layout
from autograd_inspector.capture.checkpoint_files.records import saved_model, saved_optimizer, target_of
from autograd_inspector.capture.checkpoint_files.safetensors import looks_like_safetensors, read_safetensors
from autograd_inspector.capture.checkpoint_files.sharded import INDEX, file_in, shards_of
from autograd_inspector.capture.existing import capture_optimizers
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.checkpoint import Checkpoint, CheckpointError, CheckpointTensor, SavedModel

_OTHERS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file: run `git lfs pull`"),
    (b"<", "a web page or XML, not the file: the download failed"),
    (b"GGUF", "a GGUF file, which torch does not load"),
    (b"\x89HDF", "an HDF5 file, which torch does not load"),
    (b"\x1f\x8b", "compressed with gzip: unpack it first"),
)
_HEAD = 512
_TAR = slice(257, 262)


def capture_checkpoint(
    source: str | os.PathLike[str] | Mapping[str, Any], model: nn.Module | None, optimizer: Optimizer | None
) -> Capture:
    """A checkpoint beside a model's parameters and an optimizer's groups and state."""
    checkpoint = checkpoint_of(source, model, optimizer)
    optimizers, models = [] if optimizer is None else [optimizer], [] if model is None else [model]
    return replace(capture_optimizers(optimizers, *models), checkpoint=checkpoint)


def checkpoint_of(
    source: str | os.PathLike[str] | Mapping[str, Any], model: nn.Module | None, optimizer: Optimizer | None
) -> Checkpoint:
    """The record of a checkpoint beside what it is for; raises CheckpointError, one line, for what is no checkpoint."""
    if isinstance(source, Mapping):
        checkpoint = _of_objects("", "dict", source, {})
    else:
        path = Path(os.fspath(source)).expanduser()
        try:
            checkpoint = _opened(path)
        except CheckpointError:
            raise
        except OSError as failure:
            raise CheckpointError(f"cannot read {path}: {failure.strerror or failure}") from None
        except Exception as failure:  # What is in a file of others may be of any kind, and do anything when looked at.
            reason = one_line(f"{type(failure).__name__}: {failure}")
            raise CheckpointError(f"{path} contains something that cannot be read: {reason}") from None
    return replace(checkpoint, absent=_absent(checkpoint), target=target_of(model, optimizer))


def _opened(path: Path) -> Checkpoint:
    if path.is_dir():
        path = file_in(path)
    if not path.exists():
        raise CheckpointError(f"no such file: {path}")
    if not path.is_file():
        raise CheckpointError(f"{path} is not a regular file")
    if path.name.endswith(INDEX):
        return _sharded(path)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise CheckpointError(f"{path} is empty (0 bytes): the save did not finish; save it again")
    return _recognised(path, head, path.stat().st_size)


def _recognised(path: Path, head: bytes, size: int) -> Checkpoint:
    """A file by its first bytes."""
    foreign = next((what for magic, what in _OTHERS if head.startswith(magic)), "")
    if foreign:
        raise CheckpointError(f"{path} is not a checkpoint: it is {foreign}")
    if head[_TAR] == b"ustar":
        raise CheckpointError(f"{path} is a tar archive: unpack it first, or load it with the torch that wrote it")
    if path.suffix == ".safetensors" or looks_like_safetensors(head, size):
        return Checkpoint(str(path), "safetensors", size, (SavedModel((), read_safetensors(path)),))
    if head.startswith(b"PK"):
        return replace(_of_objects(str(path), "torch.save", *load_zip(path)), nbytes=size)
    if head.startswith(LEGACY):
        return replace(_of_objects(str(path), "torch.save (legacy)", *load_legacy(path)), nbytes=size)
    if head[0] == LEGACY[0] or head.startswith((b"(", b"c")):
        refuse_pickle(path)
    raise CheckpointError(f"{path} is not a checkpoint: it is neither a torch.save file nor safetensors")


def _sharded(index: Path) -> Checkpoint:
    tensors: list[CheckpointTensor] = []
    shards = shards_of(index)
    safe = all(shard.suffix == ".safetensors" for shard in shards)
    for shard, names in shards.items():
        shard_tensors = read_safetensors(shard) if safe else _weights_in(shard)
        lost = sorted(names - {tensor.name for tensor in shard_tensors})
        if lost:
            raise CheckpointError(
                f"{index} says that {shard.name} has {lost[0]!r}, but it does not: download both again"
            )
        tensors += [tensor for tensor in shard_tensors if tensor.name in names]
    size = sum(shard.stat().st_size for shard in shards)
    return Checkpoint(
        str(index.parent),
        "sharded safetensors" if safe else "sharded torch.save",
        size,
        (SavedModel((), tuple(tensors)),),
    )


def _weights_in(shard: Path) -> tuple[CheckpointTensor, ...]:
    models = _opened(shard).models
    if not models:
        raise CheckpointError(f"{shard} holds no model's state_dict, although an index lists it as a shard of one")
    return models[0].tensors


def _of_objects(source: str, kind: Any, root: Any, locations: Locations) -> Checkpoint:
    layout = Layout(root)
    if not layout.models and not layout.optimizers:
        raise CheckpointError(f"{source or 'the dict'} {_instead(root)}")
    return Checkpoint(
        source,
        kind,
        models=tuple(saved_model(path, state, locations) for path, state in layout.models),
        optimizers=tuple(saved_optimizer(path, state, locations) for path, state in layout.optimizers),
        others=tuple(layout.others),
    )


def _instead(root: Any) -> str:
    if not isinstance(root, Mapping):
        return f"holds a {type(root).__name__}, not a state_dict: save model.state_dict()"
    keys = ", ".join(repr(key)[:40] for key in list(root)[:6]) or "no keys at all"
    return (
        f"holds neither a model's nor an optimizer's state_dict (it has {keys}): "
        'save {"model": model.state_dict(), "optimizer": optimizer.state_dict()}'
    )


def _absent(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Devices that the checkpoint was saved from and that this machine has not."""
    tensors = [tensor for model in checkpoint.models for tensor in model.tensors]
    tensors += [t for optimizer in checkpoint.optimizers for p in optimizer.parameters for t in p.state]
    return tuple(sorted({tensor.device for tensor in tensors if not _there(tensor.device)}))


def _there(device: str) -> bool:
    kind, _, number = device.partition(":")
    if kind in {"cpu", "meta"}:
        return True
    module = getattr(torch, kind, None)
    try:
        return bool(module.is_available()) and int(number or 0) < module.device_count()  # type: ignore[union-attr]
    except (AttributeError, ValueError, RuntimeError):
        return kind == "mps" and torch.backends.mps.is_available()
