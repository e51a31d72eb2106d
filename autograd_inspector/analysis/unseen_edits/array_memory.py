"""The memory that tensors share with NumPy arrays: who wrote it by which line, who saved it, who read it."""

from __future__ import annotations

from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.saved_tensors import Saved
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Key, keys_of
from autograd_inspector.analysis.unseen_edits.slices import inside_slices
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.op import Op, Trait


class Writer(NamedTuple):
    """An array through which a line writes; ``order``: its place among all of them."""

    order: int
    alias: AliasWrite


class Memory:
    """All storages that an array shares, each with what happened to it in program order."""

    def __init__(self, analysis: Analysis) -> None:
        self.sites: dict[int, dict[int, list[Writer]]] = {}
        """Site that writes -> storage -> the arrays by which it does."""
        self.saved: dict[int, list[Saved]] = {}
        self.read: dict[int, dict[Key, list[Op]]] = {}
        """Storage -> the ops that read it in the forward, those alike together."""
        self.read_again: list[tuple[int, int]] = []
        """(op, storage): the same in recomputations."""
        tensors = analysis.capture.tensors
        for order, alias in enumerate(analysis.capture.alias_writes):
            storage = tensors[aliased(analysis, alias)].storage
            if storage >= 0:
                self.sites.setdefault(alias.site, {}).setdefault(storage, []).append(Writer(order, alias))
        shared = {storage for storages in self.sites.values() for storage in storages}
        for node in (each for each in analysis.capture.nodes if each.index not in analysis.behind_none):
            for saved in (*node.saved, *inside_slices(analysis, node)):
                if saved.storage in shared and saved.status == "valid" and not saved.unused:
                    self.saved.setdefault(saved.storage, []).append((node, saved))
        for op in analysis.capture.ops:
            for storage in shared.intersection([tensors[tensor].storage for tensor in op.inputs]):
                if op.has(Trait.BACKWARD):
                    self.read_again.append((op.index, storage))
                else:
                    for key in keys_of(analysis, op):
                        self.read.setdefault(storage, {}).setdefault(key, []).append(op)


def aliased(analysis: Analysis, alias: AliasWrite) -> int:
    """The tensor that shares its memory with the array."""
    op = analysis.capture.ops[alias.op]
    return (op.outputs if op.name == "from_numpy" else op.inputs)[0]
