"""Folders: a checkpoint in several files with an index, as transformers and diffusers write it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from autograd_inspector.capture.checkpoint_files.files import one_line
from autograd_inspector.model.checkpoint import CheckpointError
from autograd_inspector.model.wording import join_names

_SINGLE = (
    "model.safetensors",
    "diffusion_pytorch_model.safetensors",
    "adapter_model.safetensors",
    "pytorch_model.bin",
    "adapter_model.bin",
)
_LARGEST_INDEX = 100_000_000
INDEX = ".index.json"
"""How the names of indices end."""


class _Index(Struct):
    """What is read of an index; what else it holds is passed over, and takes no memory."""

    weight_map: dict[str, str]


def file_in(folder: Path) -> Path:
    """The index of a folder's shards, else its one file of weights; raises CheckpointError when it has neither."""
    indices = sorted(folder.glob(f"*{INDEX}"), key=lambda path: ("safetensors" not in path.name, path.name))
    weight_files = [*indices, *(folder / name for name in _SINGLE if (folder / name).is_file())]
    if weight_files:
        return weight_files[0]
    if (folder / ".metadata").is_file():
        raise CheckpointError(
            f"{folder} is a torch.distributed.checkpoint; to convert it to one file: python -m "
            f"torch.distributed.checkpoint.format_utils dcp_to_torch {folder} checkpoint.pt"
        )
    files = sorted(
        path.name for path in folder.iterdir() if path.suffix in {".pt", ".pth", ".ckpt", ".safetensors", ".bin"}
    )
    instead = f"name one of its files: {', '.join(files[:6])}" if files else "name the checkpoint's file"
    raise CheckpointError(f"{folder} is a folder without model.safetensors.index.json or model.safetensors; {instead}")


def shards_of(index: Path) -> dict[Path, set[str]]:
    """Shard -> the names that the index says it has; raises CheckpointError for an index that is none."""
    try:
        if index.stat().st_size > _LARGEST_INDEX:
            raise CheckpointError(f"{index} is too large for an index of shards")
        weights = msgspec.json.decode(index.read_bytes(), type=_Index).weight_map
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise CheckpointError(
            f"{index} is not an index of shards: a JSON object with a weight_map is expected"
        ) from None
    shards: dict[Path, set[str]] = {}
    for name, shard in weights.items():
        if Path(shard).name != shard or shard in {"", ".", ".."} or "\0" in shard:
            raise CheckpointError(
                f"{index} names the shard {one_line(repr(shard))}, which is outside its folder: refused"
            )
        if shard.endswith(INDEX):
            raise CheckpointError(
                f"{index} names {one_line(repr(shard))} as a shard, but that is an index too: refused"
            )
        shards.setdefault(index.parent / shard, set()).add(name)
    absent = sorted(path.name for path in shards if not path.is_file())
    if absent:
        raise CheckpointError(f"{index.parent} lacks the shards {join_names(absent, 3)}: download them")
    if not shards:
        raise CheckpointError(f"{index} lists no tensors")
    return shards
