"""``fully_shard`` and FullyShardedDataParallel: what they reduce as shards, what they leave, when they do neither."""

from __future__ import annotations

import gc
import sys
from itertools import zip_longest
from typing import Any

import torch.distributed as dist
from torch import nn

from autograd_inspector.capture.module_tree import named_parameters
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.distributed import flattened, local_of, reduces
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around, observed
from autograd_inspector.model.program_events import ModelSharded, ShardSyncSet

_FSDP = "torch.distributed.fsdp"


class Sharders:
    """Those of more than one rank, each met when it is made, or found when the capture begins."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._off = -1
        """Where ``no_sync()`` of a FullyShardedDataParallel was called last."""
        self._reduces = True
        """Whether the last forward of one was outside of it."""

    def install(self, into: Installation) -> None:
        """Meet those that are there, and observe those that come, once the program has loaded FSDP."""
        into.when_loaded(_FSDP, lambda: self._guard.run(self._observe, into))

    def _observe(self, into: Installation) -> None:
        module = sys.modules[_FSDP]
        kind = getattr(module, "FSDPModule", None)
        if kind is None or not dist.is_available():
            return
        flat = module.FullyShardedDataParallel
        if dist.is_initialized():
            self._guard.run(self._find, kind)
            self._guard.run(self._find_flat, flat)
        observed(into, flat, "__init__", after=self._flattened, guard=self._guard)
        observed(into, flat, "no_sync", before=self._left_off, guard=self._guard)
        observed(into, flat, "forward", before=self._called, guard=self._guard)
        around(into, module, "fully_shard", _Made(self, self._recording, self._guard))
        observed(into, kind, "set_requires_gradient_sync", before=self._switched, guard=self._guard)
        observed(into, kind, "set_requires_all_reduce", before=self._between, guard=self._guard)

    def _find(self, kind: type) -> None:
        """The roots and the parts of what the program sharded before; see Wrappers for the collector."""
        subclasses: list[type] = type.__subclasses__(kind)
        for sharded in subclasses:
            for found in gc.get_referrers(sharded):
                if type(found) is sharded:
                    self.met(found, -1)

    def _find_flat(self, kind: type) -> None:
        for found in gc.get_referrers(kind):
            if type(found) is kind:
                self._flat(found, -1)

    def _flattened(self, wrapper: Any, _args: Any, _kwargs: Any, _before: Any) -> None:
        if self._recording.active():
            self._flat(wrapper, self._recording.stacks.here(0))

    def _flat(self, wrapper: Any, site: int) -> None:
        """A FullyShardedDataParallel: the flat parameter of its own, of those inside it they themselves tell."""
        recording, world = self._recording, dist.get_world_size() if dist.is_initialized() else 0
        shards = flattened(wrapper) if world > 1 else ()
        if shards:
            at = len(recording.ops) if site >= 0 else 0
            numbers = tuple(map(recording.id_of, shards))
            recording.events.append(ModelSharded(at, site, type(wrapper).__name__, numbers, (), world, flat=True))

    def whole(self, module: Any) -> dict[str, int]:
        """Name -> parameter, of those of a module that nothing has sharded."""
        if not isinstance(module, nn.Module):
            return {}
        return {n: self._recording.id_of(p) for n, p in named_parameters(module) if local_of(p) is None}

    def met(self, module: Any, site: int, whole: dict[str, int] | None = None) -> None:
        """A module that is sharded now; ``whole``: its parameters as they were before."""
        recording, world = self._recording, dist.get_world_size() if dist.is_initialized() else 0
        if not isinstance(module, nn.Module) or world <= 1:
            return
        parameters = [(name, p) for name, p in named_parameters(module) if needs_grad(p)]
        shards = {name: p for name, p in parameters if local_of(p) is not None}
        ignored = [p for _, p in parameters if local_of(p) is None]
        recording.registry.parameters.update(recording.id_of(p) for _, p in parameters)
        names = [name for name in shards if name in (whole or {})]
        pairs = tuple((recording.id_of(shards[name]), whole[name]) for name in names) if whole else ()
        recording.events.append(
            ModelSharded(
                len(recording.ops) if site >= 0 else 0,
                site,
                "fully_shard",
                tuple(map(recording.id_of, shards.values())),
                tuple(map(recording.id_of, ignored)),
                world,
                pairs=pairs,
            )
        )

    def _left_off(self, _wrapper: Any, _args: Any, _kwargs: Any) -> None:
        if self._recording.active():
            self._off = self._recording.stacks.here(0)

    def _called(self, wrapper: Any, _args: Any, _kwargs: Any) -> None:
        """Its forward begins: in a block of ``no_sync()``, perhaps, which is over when that of the root reduces."""
        recording = self._recording
        on = reduces(wrapper)
        if recording.active() and on != self._reduces:
            self._reduces = on
            site = recording.stacks.here(0) if on else self._off
            recording.events.append(ShardSyncSet(len(recording.ops), site, type(wrapper).__name__, on, flat=True))

    def _switched(self, module: Any, args: Any, kwargs: Any) -> None:
        self._set(module, kwargs.get("requires_gradient_sync", args[1] if len(args) > 1 else None), replicas=False)

    def _between(self, module: Any, args: Any, kwargs: Any) -> None:
        self._set(module, kwargs.get("requires_all_reduce", args[1] if len(args) > 1 else None), replicas=True)

    def _set(self, module: Any, value: Any, *, replicas: bool) -> None:
        recording = self._recording
        if recording.active() and isinstance(value, bool):
            at, site, kind = len(recording.ops), recording.stacks.here(0), type(module).__name__
            recording.events.append(ShardSyncSet(at, site, kind, value, replicas=replicas))


class _Made:
    """A probe in ``fully_shard``."""

    def __init__(self, sharders: Sharders, recording: Recording, guard: Guard) -> None:
        self._sharders = sharders
        self._recording = recording
        self._guard = guard

    def before(self, seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """It begins, and is to put shards in the place of parameters."""
        if self._recording.here() and self._recording.active():
            given = args[0] if args else kwargs.get("module")
            modules = given if isinstance(given, (list, tuple)) else (given,)
            seen += (self._guard.run(self._sharders.whole, module) for module in modules)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It returned the module, or the modules, that it was given."""
        if self._recording.here() and self._recording.active():
            site = self._recording.stacks.here(0)
            modules = result if isinstance(result, (list, tuple)) else (result,)
            for module, whole in zip_longest(modules, seen[: len(modules)]):
                self._guard.run(self._sharders.met, module, site, whole)
        seen.clear()
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised."""
        seen.clear()
