"""Collectives: one op each, whatever torch.distributed does inside."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import Tensor

from autograd_inspector.capture.lines.program_frames import called_by_program
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.pauses import Pause
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad, version_of
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.torch_private.distributed import FUNCTIONAL, pending_of
from autograd_inspector.capture.torch_private.resolving import Place
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around, observed
from autograd_inspector.model.op import Trait, Write
from autograd_inspector.model.program_events import Awaited, Communicated

_NAMES = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "broadcast",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "gather",
    "scatter",
    "all_to_all",
    "all_to_all_single",
    "recv",
    "irecv",
    "send",
    "isend",
    "barrier",
    "broadcast_object_list",
    "all_reduce_coalesced",
    "new_group",
)
_SENDS = ("send", "isend")
"""They write to nothing here."""
_PEER = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src", "broadcast": "src", "reduce": "dst"}
"""Call to or from one rank -> what it names that one, which also is its second argument."""
_TAGGED = ("send", "isend", "recv", "irecv")
_BEFORE_TAG = 3
"""Arguments before it: the tensor, the rank, the group."""
_BLOCKING = ("all_gather_object", "broadcast_object_list", "send", "recv")
_ASKS = ("wait", "get_future", "synchronize", "is_completed", "block_current_stream")
"""What a program may do with what it has begun."""
_OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


class Collectives:
    """A probe in each of them."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._seen: Counter[int] = Counter()
        """Site -> how many calls it made."""
        self._handles: dict[int, tuple[int, str]] = {}
        """Python's id of what a call that was only begun returned -> which call it was, and its name."""

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        for name in _NAMES if dist.is_available() else ():
            if name in vars(dist):
                around(into, dist, name, _Collective(name, self._recording, self._guard, self._seen, self._handles))
        for place in FUNCTIONAL if dist.is_available() else ():
            into.when_loaded(place.module, partial(self._guard.run, self._functional, into, place))
        for name in _ASKS if dist.is_available() else ():
            if name in vars(dist.Work):
                observed(into, dist.Work, name, before=self._awaited, guard=self._guard)

    def _functional(self, into: Installation, place: Place) -> None:
        owner = place.owner()
        if owner is not None:
            around(into, owner, place.name, _Functional(place.name, self._recording, self._guard, self._seen))

    def _awaited(self, work: Any, _args: Any, _kwargs: Any) -> None:
        """The program waits for a call that it had only begun, or asks for it."""
        call = self._handles.pop(id(work), None)
        recording = self._recording
        if call is not None and recording.recording:
            recording.events.append(Awaited(len(recording.ops), recording.stacks.here(0), call[1], call[0]))


class _Functional:
    """A probe in a collective that returns what it computed.

    Of one that the program itself calls with tensors that need no gradient the values are followed, as those of an op.
    Of others, which parallel layers call, only that they were called is noted.
    """

    def __init__(self, name: str, recording: Recording, guard: Guard, seen: Counter[int]) -> None:
        self._name = name
        self._recording = recording
        self._guard = guard
        self._seen = seen

    def before(self, seen: list[_OpenCollective], /, *args: Any, **kwargs: Any) -> None:
        if not (self._recording.here() and self._recording.active()):
            return
        frame = sys._getframe(1)
        tensors: list[Tensor] = []
        self._guard.run(gather, (args, kwargs), tensors)
        if called_by_program(frame) and tensors and not any(map(needs_grad, tensors)):
            ops = (value.lower() for value in (*args, *kwargs.values()) if isinstance(value, str))
            op = next((op for op in ops if op.upper() in _OPS), "")
            seen += (_OpenCollective(frame, tensors, [], op, _world((*args, *kwargs.values()))),)
            self._recording.pause(Pause(frame))
        else:
            self._guard.run(self._note)

    def after(self, seen: list[_OpenCollective], result: Any, /) -> Any:
        for call in seen:
            self._recording.go_on(call.frame)
            self._guard.run(self._communicated, call, result)
        seen.clear()
        return result

    def failed(self, seen: list[_OpenCollective], _error: BaseException, /) -> None:
        for call in seen:
            self._recording.go_on(call.frame)

    def _communicated(self, call: _OpenCollective, result: Any) -> None:
        recording = self._recording
        returned = [whole for whole in (result, pending_of(result)) if isinstance(whole, Tensor)]
        at, site = len(recording.ops), recording.stacks.here(0)
        inputs = tuple(recording.registry.enter(t, -1, at).tensor for t in call.tensors)
        results = tuple(recording.registry.enter(t, at, at).tensor for t in returned)
        self._seen[site] += 1
        name, nth, times = f"functional {self._name}", self._seen.total(), self._seen[site]
        event = Communicated(at, site, name, call.op, call.world, nth, times, inputs, results=results)
        recording.events.append(event)
        versions = tuple(map(version_of, call.tensors))
        recording.append(name, inputs, results, (), int(Trait.COLLECTIVE), site, versions=versions)

    def _note(self) -> None:
        recording = self._recording
        recording.events.append(
            Communicated(
                len(recording.ops),
                recording.stacks.here(0),
                f"functional {self._name}",
                "",
                dist.get_world_size() if dist.is_initialized() else 0,
                0,
                0,
                inside=True,
            )
        )


class _OpenCollective(NamedTuple):
    """One that has begun, and what it was given."""

    frame: FrameType
    tensors: list[Tensor]
    versions: list[int]
    op: str
    world: int
    peer: int = -1
    tagged: bool = False
    digest: int | None = None


class _Collective:
    def __init__(
        self, name: str, recording: Recording, guard: Guard, seen: Counter[int], handles: dict[int, tuple[int, str]]
    ) -> None:
        self._name = name
        self._handles = handles
        self._seen = seen
        self._recording = recording
        self._guard = guard

    def before(self, seen: list[_OpenCollective], /, *args: Any, **kwargs: Any) -> None:
        """It begins. torch.distributed hands some of them to the torch-function mode as well, and others on."""
        if self._recording.here() and self._recording.active() and not self._recording.continuing:
            tensors: list[Tensor] = []
            versions = self._guard.run(_versions, (args, kwargs), tensors)
            op, world = self._guard.run(_reduced_by, (*args, *kwargs.values())) or ("", 0)
            peer = self._guard.run(_peer, self._name, args, kwargs)
            peer = -1 if peer is None else peer
            tagged = bool(self._guard.run(_is_tagged, self._name, args, kwargs))
            digest = self._guard.run(self._digest, tensors) if op else None
            seen += (_OpenCollective(sys._getframe(1), tensors, versions or [], op, world, peer, tagged, digest),)
            self._recording.pause(Pause(sys._getframe(1)))

    def after(self, seen: list[_OpenCollective], result: Any, /) -> Any:
        """It returned."""
        for call in seen:
            self._recording.go_on(call.frame)
            self._guard.run(self._communicated, call, result)
        seen.clear()
        return result

    def failed(self, seen: list[_OpenCollective], _error: BaseException, /) -> None:
        """It raised: others did not come, perhaps."""
        for call in seen:
            if self._recording.go_on(call.frame) is not None:
                self._guard.run(partial(self._note, call, (), failed=True))

    def _note(
        self, call: _OpenCollective, tensors: tuple[int, ...], *, failed: bool = False, begun: bool = False
    ) -> int:
        recording = self._recording
        site = recording.stacks.here(0)
        self._seen[site] += 1
        recording.events.append(
            Communicated(
                len(recording.ops),
                site,
                self._name,
                call.op,
                call.world,
                self._seen.total(),
                self._seen[site],
                tensors,
                bool(recording.traits & _INSIDE),
                failed,
                begun,
                peer=call.peer,
                tagged=call.tagged,
                digest=call.digest,
            )
        )
        return site

    def _digest(self, tensors: list[Tensor]) -> int | None:
        """The fingerprint of what a Function gives to a reduction, where values are read; of zeros none."""
        recording = self._recording
        if recording.values is None or len(tensors) != 1 or not recording.traits & _INSIDE:
            return None
        number = fingerprint(tensors[0])
        return None if number == tensors[0].numel() else number

    def _communicated(self, call: _OpenCollective, result: Any) -> None:
        """Everything but the local contribution is written, whether or not a counter moved."""
        recording = self._recording
        inputs = call.tensors
        entries = [recording.registry.enter(t, -1, len(recording.ops)) for t in inputs]
        tensors = tuple(e.tensor for e in entries)
        begun = result is not None and self._name not in _BLOCKING and hasattr(result, "wait")
        site = self._note(call, tensors, begun=begun)
        if begun:
            self._handles[id(result)] = (self._seen.total(), self._name)
        if not entries:
            return
        sends = self._name in _SENDS
        alive = not sends and any(e.requires_grad for e in entries)
        written = [
            e
            for e, t, b in zip(entries, inputs, call.versions, strict=True)
            if not sends and (version_of(t) != b or not e.requires_grad)
        ]
        recording.append(
            self._name,
            tensors,
            tuple(e.tensor for e in written),
            tuple(Write(e.tensor, e.storage, -1, -1) for e in written),
            int(Trait.COLLECTIVE) | (int(Trait.CUT) if alive else 0),
            site,
            versions=tuple(call.versions),
        )


_INSIDE = int(Trait.INNER) | int(Trait.BACKWARD)


def _world(arguments: tuple[Any, ...]) -> int:
    """How many ranks the group has that is among some arguments, or all groups together."""
    group = next((value for value in arguments if isinstance(value, dist.ProcessGroup)), None)
    return dist.get_world_size(group) if dist.is_initialized() else 0


def _reduced_by(arguments: tuple[Any, ...]) -> tuple[str, int]:
    """("sum", the number of ranks in the group), of what a collective was given."""
    ops = (value for value in arguments if isinstance(value, (dist.ReduceOp, dist.ReduceOp.RedOpType)))
    op = next(ops, None)
    name = next((name for name in _OPS if op == getattr(dist.ReduceOp, name)), "") if op is not None else ""
    return name.lower(), _world(arguments)


def _is_tagged(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a message has a tag, by which it may overtake others."""
    given = kwargs.get("tag", args[_BEFORE_TAG] if len(args) > _BEFORE_TAG else 0)
    return name in _TAGGED and type(given) is int and given != 0


def _peer(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The rank that a call sends to, or receives from, as the program says; -1 where it does not."""
    own = _PEER.get(name, "")
    if not own:
        return -1
    peer = args[1] if len(args) > 1 else kwargs.get(own)
    if isinstance(peer, int):
        return peer
    within, group = kwargs.get(f"group_{own}"), kwargs.get("group")
    if not isinstance(within, int):
        return -1
    return dist.get_global_rank(group, within) if isinstance(group, dist.ProcessGroup) else within


def _versions(values: Any, into: list[Tensor]) -> list[int]:
    gather(values, into)
    return [version_of(tensor) for tensor in into]
