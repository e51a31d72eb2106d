"""DistributedSampler: which part of which epoch's order it gives."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import torch.distributed as dist
import torch.utils.data.dataset
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around, observed
from autograd_inspector.model.program_events import SamplerIterated, SamplerUnused

_ACCELERATE = "accelerate.data_loader"
_POSITIVE = (1 << 62) - 1
_LARGEST = 1 << 22
"""Indices of a subset that are looked at."""


class _Met(NamedTuple):
    ref: weakref.ref[Any]
    number: int
    made: int
    epochs: Counter[int]
    told: list[bool]


class Samplers:
    """Notes each iteration."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._met: dict[int, _Met] = {}
        self._count = 0
        self._splits: dict[int, tuple[weakref.ref[Any], int]] = {}
        """Python's id of a part of a dataset -> the part, and where it was split off at random."""

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        if dist.is_available():
            observed(into, DistributedSampler, "__init__", after=self._made, guard=self._guard)
            observed(into, DistributedSampler, "__iter__", before=self._iterated, guard=self._guard)
            observed(into, DataLoader, "__iter__", before=self._read, guard=self._guard)
            around(into, torch.utils.data.dataset, "random_split", _Split(self._split, self._guard))
        into.when_loaded(_ACCELERATE, lambda: self._guard.run(self._deal, into))

    def _deal(self, into: Installation) -> None:
        kind = getattr(sys.modules[_ACCELERATE], "BatchSamplerShard", None)
        if isinstance(kind, type) and "__iter__" in vars(kind):
            observed(into, kind, "__iter__", before=self._dealt, guard=self._guard)

    def _made(self, sampler: Any, _args: Any, _kwargs: Any, _before: Any) -> None:
        if self._recording.active():
            self._meet(sampler, self._recording.stacks.here(0))

    def _meet(self, sampler: Any, site: int) -> _Met:
        met = self._met.get(id(sampler))
        if met is None or met.ref() is not sampler:
            met = self._met[id(sampler)] = _Met(weakref.ref(sampler), self._count, site, Counter(), [])
            self._count += 1
        return met

    def _read(self, loader: Any, _args: Any, _kwargs: Any) -> None:
        """A loader begins an epoch: whether it leaves out a sampler that was made for its dataset."""
        recording, own = self._recording, vars(loader)
        if not recording.active() or isinstance(own.get("sampler"), DistributedSampler) or _sampled(own):
            return
        for met in list(self._met.values()):
            sampler = met.ref()
            parts = None if sampler is None else vars(sampler).get("num_replicas")
            if met.made < 0 or met.epochs or met.told or not isinstance(parts, int):
                continue
            if vars(sampler).get("dataset") is own.get("dataset") is not None:
                met.told.append(True)
                recording.events.append(SamplerUnused(len(recording.ops), recording.stacks.here(0), met.made, parts))

    def _dealt(self, sampler: Any, _args: Any, _kwargs: Any) -> None:
        """A sampler of batches begins to leave those of other ranks out; whether it shuffles, another one knows."""
        recording, own = self._recording, vars(sampler)
        parts, shard = own.get("num_processes"), own.get("process_index")
        if recording.active() and isinstance(parts, int) and isinstance(shard, int):
            met = self._meet(sampler, -1)
            site, kind = recording.stacks.here(0), type(sampler).__name__
            at, number, made = len(recording.ops), met.number, met.made
            recording.events.append(
                SamplerIterated(at, site, number, -1, shuffle=False, shard=shard, parts=parts, made=made, type=kind)
            )

    def _iterated(self, sampler: Any, _args: Any, _kwargs: Any) -> None:
        recording, own = self._recording, vars(sampler)
        epoch, parts, shard = own.get("epoch"), own.get("num_replicas"), own.get("rank")
        if not (recording.active() and isinstance(epoch, int) and isinstance(parts, int) and isinstance(shard, int)):
            return
        met = self._meet(sampler, -1)
        again = met.epochs[epoch]
        met.epochs[epoch] += 1
        site, shuffle, seed = recording.stacks.here(0), own.get("shuffle") is True, own.get("seed")
        at, order = len(recording.ops), seed + epoch if isinstance(seed, int) else -1
        subset = -1 if met.epochs.total() > 1 else _subset(own.get("dataset"))
        split = self._splits.get(id(own.get("dataset")))
        recording.events.append(
            SamplerIterated(
                at,
                site,
                met.number,
                epoch,
                shuffle,
                shard,
                parts,
                met.made,
                again,
                order=order,
                subset=subset,
                split=split[1] if split is not None and split[0]() is own.get("dataset") else -1,
            )
        )

    def _split(self, result: Any) -> None:
        if self._recording.active():
            site = self._recording.stacks.here(0)
            self._splits.update((id(part), (weakref.ref(part), site)) for part in result)


class _Split:
    """A probe in ``random_split``."""

    def __init__(self, note: Callable[[Any], None], guard: Guard) -> None:
        self._note = note
        self._guard = guard

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """It begins."""

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned the parts."""
        if self._guard.recording.here():
            self._guard.run(self._note, result)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised."""


def _subset(dataset: Any) -> int:
    """What tells the indices of a subset from others, the same in all processes; -1 where it is none."""
    indices = vars(dataset).get("indices") if type(dataset) is Subset else None
    if type(indices) is not list or not 0 < len(indices) <= _LARGEST:
        return -1
    return hash(tuple(indices)) & _POSITIVE if {type(index) for index in indices} == {int} else -1


def _sampled(own: dict[str, Any]) -> bool:
    """Whether a loader's batches come from a sampler of batches that holds a distributed one."""
    batches = own.get("batch_sampler")
    held = getattr(batches, "sampler", None)
    return isinstance(batches, DistributedSampler) or isinstance(held, DistributedSampler)
