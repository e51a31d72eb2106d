"""What tells ranks' data, weights, gradients and buffers apart: sums over their bits, read only where values may be."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from autograd_inspector.capture.module_tree import modules_of, named_buffers, parameters_of
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.distributed.wrappers import exchanges_buffers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.several_ranks import several_ranks
from autograd_inspector.capture.tensors.attributes import gradient_of, shape_of
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.torch_private.distributed import local_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import DataMet, WeightsMet

What = Literal["weights", "buffers", "gradients", "stepped", "declared", "came back", "dealt out", "kept"]
_TENSOR = "torch.distributed.tensor"
_MOST = 64
"""Batches, calls and steps that are looked at."""
_NUMBERS = 65_536
"""Fingerprints of a capture, whatever the size of its models."""


class Fingerprints:
    """Notes what a model is given when it is called to learn, what it has then, and what steps work with."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._batches = 0
        self._told: Counter[What] = Counter()
        self._numbers = 0
        self._parts: dict[tuple[int, ...], int] = {}
        """The shape of a distributed tensor -> where the program took this rank's part of one last."""
        self._asked: set[int] = set()
        """The models that were called without grad mode."""

    def install(self, into: Installation) -> None:
        """Observe which tensors the program declares to be the same on several ranks."""
        if self._recording.values is not None:
            into.when_loaded(_TENSOR, lambda: self._guard.run(self._observe, into))

    def _observe(self, into: Installation) -> None:
        module: Any = sys.modules[_TENSOR]
        kind = module.DTensor
        observed(into, kind, "from_local", before=self._declared, guard=self._guard)
        observed(into, kind, "to_local", before=self._taken, guard=self._guard)
        observed(into, module, "distribute_tensor", before=self._dealt_out, guard=self._guard)

    def _taken(self, spread: Any, _args: Any, _kwargs: Any) -> None:
        """The program goes on with this rank's part of a tensor: the gradient of that comes back in one declared so."""
        if self._reads() and self._recording.active():
            self._parts[shape_of(spread)] = self._recording.stacks.here(0)

    def given(self, root: int, model: nn.Module, values: tuple[Any, ...]) -> None:
        """The outermost call of a model begins."""
        recording = self._recording
        if not self._reads():
            return
        site = recording.stacks.here(0)
        if not torch.is_grad_enabled():
            if root not in self._asked:
                self._asked.add(root)
                self._meet("kept", type(model).__name__, site, ((p, p, "") for p in parameters_of(model)))
            return
        tensors: list[Tensor] = []
        gather(values, tensors)
        prints = [fingerprint(tensor) for tensor in tensors]
        if prints and None not in prints and self._batches < _MOST:
            self._batches += 1
            recording.events.append(DataMet(len(recording.ops), site, type(model).__name__, hash(tuple(prints))))
        self._meet("weights", type(model).__name__, site, ((p, p, "") for p in parameters_of(model)))
        if not any(exchanges_buffers(vars(module)) for module in modules_of(model)):
            self._meet("buffers", type(model).__name__, site, ((b, b, name) for name, b in named_buffers(model)))

    def stepping(self, kind: str, site: int, parameters: Iterable[Tensor]) -> None:
        """An optimizer is about to use the gradients of these."""
        if self._reads():
            held = ((p, gradient_of(p), "") for p in parameters)
            self._meet("gradients", kind, site, ((p, g, name) for p, g, name in held if g is not None))

    def stepped(self, kind: str, site: int, parameters: Iterable[Tensor]) -> None:
        """It has moved them."""
        if self._reads():
            self._meet("stepped", kind, site, ((p, p, "") for p in parameters))

    def _declared(self, local: Any, args: Any, kwargs: Any) -> None:
        """A tensor becomes part of a distributed one. Where it is replicated, nothing makes it so."""
        mesh = kwargs.get("device_mesh", args[1] if len(args) > 1 else None)
        placements = kwargs.get("placements", args[2] if len(args) > 2 else None)  # noqa: PLR2004 - the third argument
        if not self._reads() or mesh is None or not placements or not isinstance(local, Tensor):
            return
        ranks = _replicas(mesh, placements)
        number = fingerprint(local) if ranks else None
        if number is not None and self._told["declared"] < _MOST:
            self._told["declared"] += 1
            recording = self._recording
            at, tensor = len(recording.ops), recording.id_of(local)
            back = bool(recording.traits & int(Trait.BACKWARD))
            taken = self._parts.get(tuple(kwargs.get("shape") or ()), -1) if back else -1
            site = taken if taken >= 0 else recording.stacks.here(0)
            what: What = "came back" if taken >= 0 else "declared"
            recording.events.append(WeightsMet(at, site, "DTensor.from_local", (tensor,), (number,), what, (ranks,)))

    def _dealt_out(self, whole: Any, args: Any, kwargs: Any) -> None:
        """A tensor of one rank is sent to the others, in parts or as it is, whatever these gave."""
        recording = self._recording
        mesh = kwargs.get("device_mesh", args[1] if len(args) > 1 else None)
        if not self._reads() or mesh is None or kwargs.get("src_data_rank", 0) is None or local_of(whole) is not None:
            return
        number = fingerprint(whole)
        if number is not None and self._told["dealt out"] < _MOST:
            self._told["dealt out"] += 1
            ranks = ",".join(map(str, mesh.mesh.flatten().tolist()))
            at, site, tensor = len(recording.ops), recording.stacks.here(0), recording.id_of(whole)
            recording.events.append(
                WeightsMet(at, site, "distribute_tensor", (tensor,), (number,), "dealt out", (ranks,))
            )

    def _reads(self) -> bool:
        return self._recording.values is not None and several_ranks()

    def _meet(self, what: What, kind: str, site: int, read: Iterable[tuple[Tensor, Tensor, str]]) -> None:
        """Note the fingerprints of (what it is of, what is read, its name), of what ranks may have in common."""
        if self._told[what] >= _MOST or self._numbers >= _NUMBERS:
            return
        recording = self._recording
        rows = [
            (recording.id_of(of), value, ranks, name)
            for of, tensor, name in read
            for ranks in [_shared(tensor)]
            if ranks is not None
            for value in [fingerprint(tensor)]
            if value is not None
        ]
        if rows:
            tensors, digests, parts, names = zip(*rows, strict=True)
            self._told[what] += 1
            self._numbers += len(rows)
            recording.events.append(WeightsMet(len(recording.ops), site, kind, tensors, digests, what, parts, names))


def _shared(tensor: Tensor) -> str | None:
    """The ranks that hold the same of a DTensor ("0,1"); None: this rank alone. "" for any other tensor."""
    if local_of(tensor) is None:
        return ""
    spread: Any = tensor
    return _replicas(spread.device_mesh, spread.placements) or None


def _replicas(mesh: Any, placements: Any) -> str:
    """The ranks that differ from this one in a dimension of a mesh in which a tensor is replicated, and in no other."""
    if any(placement.is_partial() for placement in placements):
        return ""
    for dimension, placement in enumerate(placements):
        if placement.is_replicate():
            ranks = torch.distributed.get_process_group_ranks(mesh.get_group(dimension))
            if len(ranks) > 1:
                return ",".join(map(str, ranks))
    return ""
