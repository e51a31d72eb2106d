"""What activation checkpointing of a module would change."""

from __future__ import annotations

from msgspec import Struct


class CheckpointSaving(Struct, frozen=True, omit_defaults=True):
    """Memory of the saved tensors of one graph, in bytes, with checkpoints around ``modules`` and without.

    One module, or each of several: the siblings of one class in a container. Parameters are not counted, and each byte
    once. ``before``: what the graph holds after forward. ``held``: what it would hold. ``peak``: what it would hold at
    most while backward runs a checkpointed forward again. ``ops``: how many torch calls would run twice.
    """

    modules: tuple[str, ...]
    """Their paths, as the graph has them."""
    type: str
    before: int
    held: int
    peak: int
    ops: int

    @property
    def freed(self) -> int:
        """What is not held between forward and backward."""
        return self.before - self.held

    @property
    def name(self) -> str:
        """``net.blocks.3``, and of several ``net.blocks.*``."""
        first = self.modules[0]
        return first if len(self.modules) == 1 else f"{first.rpartition('.')[0]}.*".lstrip(".")
