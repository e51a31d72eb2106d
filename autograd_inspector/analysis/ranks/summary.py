"""One rank's capture -> what it tells the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.beginnings import drawn
from autograd_inspector.analysis.ranks.dealing import dealt
from autograd_inspector.analysis.ranks.gathered_parts import gathered_parts
from autograd_inspector.analysis.ranks.lanes import lane_of
from autograd_inspector.analysis.ranks.layers import computed, moved, unclipped
from autograd_inspector.analysis.ranks.loading import loads
from autograd_inspector.analysis.ranks.moments import moments_of
from autograd_inspector.analysis.ranks.passes import passes_of
from autograd_inspector.analysis.ranks.pipelines import turned
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.ranks.summed_back import summed_back
from autograd_inspector.analysis.ranks.updates import Updates, computes_in_place
from autograd_inspector.analysis.seen_gradients import gradients_of
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import (
    Communicated,
    DataMet,
    RandomStateSet,
    SchedulerStepped,
    StoodStill,
    WeightsMet,
    WrapperCalled,
)
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.torch_errors import TorchError, says

_CALLS = 256
"""Calls whose order is compared."""
_DATA = 64
"""Batches that are compared."""


def summary_of(capture: Capture, reductions: Reductions) -> RankSummary:
    """What there is to compare; next to nothing where no other rank is known."""
    if not reductions.several_ranks:
        return RankSummary()
    return _Summary(capture, reductions).made()


class _Summary:
    def __init__(self, capture: Capture, reductions: Reductions) -> None:
        self.capture = capture
        self.reductions = reductions
        self.reduced = {tensor for each in reductions.reached for tensor in each.reduced}

    def made(self) -> RankSummary:
        capture, reductions = self.capture, self.reductions
        exchanges = reductions.exchanges
        calls = [call for call in capture.events_of(WrapperCalled) if call.nth]
        updates = Updates(capture, reductions, self.places, self.names)
        teachers, read = updates.teachers()
        # Which ranks form a group is not known here: of several groups neither data nor weights are compared.
        data = () if reductions.within_groups else capture.events_of(DataMet)
        weights = [] if reductions.within_groups else _first_of(capture.events_of(WeightsMet))
        layers = tuple(computed(capture, reductions, self.places, self.names))
        return RankSummary(
            reductions.meant and not exchanges.in_functions and not exchanges.point_to_point,
            tuple(self.names(sorted(self.reduced))),
            tuple(self._exchanges()),
            tuple(self._forwards(calls)),
            any(call.joins for call in calls),
            self._waited(),
            tuple(self._steps()),
            tuple(
                Done(optimizer.type, self.places(optimizer.site, "optimizer created here"))
                for optimizer in capture.placement.optimizers
            ),
            tuple(self._each_line(capture.events_of(SchedulerStepped), "scheduler stepped here")),
            tuple(self._frozen()),
            tuple(loads(capture, reductions, self.reduced, self.places, self.names)),
            tuple(self._edits()),
            tuple(self._sequence()),
            tuple(event.digest for event in data[:_DATA]),
            self.places(data[0].site, "called here") if data else (),
            {
                name: digest
                for event in weights
                for name, digest, part in zip(self.names(event.tensors), event.digests, event.parts, strict=True)
                if not part
            },
            self.places(weights[0].site, "called here") if weights else (),
            bool(capture.error),
            tuple(updates.gradient_edits()),
            tuple(updates.state_loads()),
            tuple(updates.autocast()),
            tuple(updates.backwards()),
            tuple(updates.clocks(self._joined)),
            tuple(teachers),
            read,
            self._stood(),
            lane_of(capture, reductions),
            *moments_of(capture, reductions, self.places, self.names),
            tuple(drawn(capture, reductions, weights, self.places, self.names)),
            tuple(self._sent()),
            layers,
            moved(capture, layers, self.names),
            *passes_of(capture, reductions, self.places),
            tuple(dealt(capture, self.places)),
            () if capture.history.folded else tuple(self._step_lines()),
            () if capture.history.folded else tuple(event.peer for event in self._joined[:_CALLS]),
            *self._kept(),
            tuple(turned(capture, reductions.timeline, reductions, self.places)),
            tuple(self._senders()),
            tuple(unclipped(capture, layers, self.places, self.names)),
            tuple(summed_back(capture, reductions, self.places)),
            tuple(gathered_parts(capture, reductions, self.places, self.names)),
            tuple(self._reseeded([event.at for event in data])),
        )

    def _reseeded(self, batches: list[int]) -> Iterator[Done]:
        """Where the state of the random generator was set, each time behind some batches."""
        for event in self.capture.events_of(RandomStateSet) if batches else ():
            if event.digest is None:
                continue
            behind = bisect_left(batches, event.at)
            yield Done(event.api, self.places(event.site, "random state set here"), behind, value=str(event.digest))

    def _kept(self) -> tuple[dict[str, int], tuple[Location, ...]]:
        """The weights of models that are only asked, with those that no step moves alone."""
        stepped = {met.tensor for step in self.capture.steps for met in step.parameters}
        events = [event for event in self.capture.events_of(WeightsMet) if event.what == "kept"]
        kept: dict[str, int] = {}
        for event in events:
            rows = zip(self.names(event.tensors), event.tensors, event.digests, event.parts, strict=True)
            for name, tensor, digest, part in rows:
                if not part and tensor not in stepped:
                    kept.setdefault(name, digest)
        return kept, self.places(events[0].site, "called here") if events else ()

    def names(self, tensors: Iterable[int]) -> list[str]:
        """Their names, as all ranks know them."""
        return [self.capture.display_names.of(tensor) for tensor in tensors]

    def places(self, site: int, role: str) -> tuple[Location, ...]:
        frames = [frame for frame in self.capture.site(site) if not frame.library]
        return tuple(with_role(frame, role if at == 0 else "called from") for at, frame in enumerate(frames))

    @cached_property
    def _joined(self) -> list[Communicated]:
        """The calls that all ranks have to make, in their order."""
        world = self.capture.world_size
        return [
            event
            for event in self.reductions.exchanges.calls
            if is_a(event.name, OpKind.ALL_JOIN) and event.world == world
        ]

    @cached_property
    def _last(self) -> dict[tuple[str, int], Communicated]:
        """(name, site) -> the last call there."""
        return {(event.name, event.site): event for event in self._joined}

    def _exchanges(self) -> Iterator[Done]:
        end = max((event.nth for event in self._last.values()), default=0)
        for (name, site), event in self._last.items():
            yield Done(name, self.places(site, f"{name} called here"), event.times, last=event.nth == end)

    def _sequence(self) -> Iterator[tuple[int, str, str]]:
        """What each of the first carries: of weights and gradients whose. Not where older ones are folded away."""
        if self.capture.history.folded:
            return
        exchanges = self.reductions.exchanges
        # Of all weights, not of those that this rank steps: another may step the others, and send them.
        whose = {t.id: t.id for t in self.capture.tensors if t.kind == "parameter"} | {
            gradient: t for t, gradients in gradients_of(self.capture).items() for gradient in gradients
        }
        for flat in self.reductions.flattened:
            whose.pop(flat, None)  # Each rank has another part of it, which begins with another parameter.
        line = {key: place for place, key in enumerate(self._last)}
        for event in self._joined[:_CALLS]:
            # Of objects that one rank sends the others see nothing but copies.
            given = () if is_a(event.name, OpKind.SENDS_OBJECTS) else event.tensors
            carried = dict.fromkeys(whose[t] for t in map(exchanges.origin, given) if t in whose)
            what = " ".join([event.name, event.op, *self.names(carried)])
            yield line[event.name, event.site], what, exchanges.agreed_size(event)

    def _sent(self) -> list[str]:
        """Weights that the ranks exchange behind the first step."""
        if not self.reductions.exchanges.weights:
            return []
        weights = (tensor.id for tensor in self.capture.tensors if tensor.kind == "parameter")
        return self.names(tensor for tensor in weights if self.reductions.averaged(tensor))

    def _senders(self) -> Iterator[Done]:
        """Lines at which one rank sends weights as they are, from the first step on: each with that rank."""
        first = min((step.at for step in self.capture.steps), default=len(self.capture.ops))
        parameters = {tensor.id for tensor in self.capture.tensors if tensor.kind == "parameter"}
        lines: dict[tuple[str, int, int], list[int]] = {}
        for event in self._joined:
            if is_a(event.name, OpKind.FROM_ONE_RANK) and event.peer >= 0 and event.at > first:
                carried = parameters.intersection(map(self.reductions.exchanges.origin, event.tensors))
                lines.setdefault((event.name, event.site, event.peer), []).extend(carried)
        for (name, site, root), tensors in lines.items():
            if tensors:
                names = tuple(dict.fromkeys(self.names(sorted(tensors))))
                yield Done(name, self.places(site, f"{name} called here"), len(tensors), names, str(root))

    def _edits(self) -> Iterator[Done]:
        """Lines that compute new values of replicated weights from their old ones, past any step."""
        exchanges = self.reductions.exchanges
        weights = {exchanges.storage(t): t for t in self.reduced} if not self.capture.history.folded else {}
        weights.pop(-1, None)
        lines: dict[tuple[str, int], list[int]] = {}
        replaced = self._replaced(weights)
        for op in self.capture.ops if weights else ():
            if (
                op.writes
                and not op.has(Trait.STEP | Trait.COLLECTIVE | Trait.BACKWARD)
                and (computes_in_place(op.name) or op.index in replaced)
            ):
                written = [weights[write.storage] for write in op.writes if write.storage in weights]
                written = [tensor for tensor in written if not self._equal_after(tensor, op.index)]
                if written:
                    lines.setdefault((op.name, op.site), []).extend(written)
        for (name, site), tensors in lines.items():
            names = tuple(dict.fromkeys(self.names(tensors)))
            yield Done(name, self.places(site, "weights changed here"), len(tensors), names)

    def _replaced(self, weights: dict[int, int]) -> set[int]:
        """Ops that copy other values into weights that the next step moves: nothing put the old ones back before it."""
        moves: dict[int, list[int]] = {}
        for step in self.capture.steps:
            for met in step.parameters:
                moves.setdefault(met.tensor, []).append(step.updates_from)
        spans: dict[tuple[int, int], list[int]] = {}
        for op in self.capture.ops if weights else ():
            if not op.writes or not is_a(op.name, OpKind.COPIES_INTO) or op.has(Trait.STEP | Trait.COLLECTIVE):
                continue
            for tensor in {weights[write.storage] for write in op.writes if write.storage in weights}:
                steps = moves.get(tensor, [])
                span = bisect_left(steps, op.index)
                if 0 < span < len(steps):
                    spans.setdefault((tensor, span), []).append(op.index)
        return {ops[0] for ops in spans.values() if len(ops) == 1}

    def _equal_after(self, tensor: int, at: int) -> bool:
        """Whether a weight is made the same on all ranks behind an op: it is wrapped, or broadcast."""
        wrapper = self.reductions.wrapper_of.get(tensor)
        if wrapper is not None and wrapper.at > at and not wrapper.apart:
            return True
        return at < self._broadcasts.get(self.reductions.exchanges.storage(tensor), -1)

    @cached_property
    def _broadcasts(self) -> dict[int, int]:
        """Memory -> the last broadcast of it, by op index."""
        exchanges = self.reductions.exchanges
        sent = (event for event in exchanges.calls if event.name == "broadcast")
        return {exchanges.storage(tensor): event.at for event in sent for tensor in event.tensors}

    def _forwards(self, calls: list[WrapperCalled]) -> Iterator[Done]:
        last = {call.wrapper: call for call in calls}
        for call in last.values():
            yield Done(call.type, self.places(call.site, "forward called here"), call.nth)

    def _stood(self) -> Done | None:
        for event in self.capture.events_of(StoodStill):
            doing = f"{event.api} waits here" if event.waits else "still here"
            return Done(event.api, self.places(event.site, doing), event.seconds, value="waits" if event.waits else "")
        return None

    def _waited(self) -> Done | None:
        stood = self._stood()
        if stood is not None:
            return Done(stood.api, stood.places, stood.times) if stood.value else None
        failed = [event for event in self.reductions.exchanges.calls if event.failed]
        capture = self.capture
        if not failed and capture.error_site >= 0 and says(capture.error, TorchError.RANK_ABSENT):
            # torch itself made the call: the state of a sharded model was asked for, a group was made.
            api = next((f.function for f in reversed(capture.site(capture.error_site)) if f.library), "")
            return Done(api or "a collective", self.places(capture.error_site, "waits here"))
        refused = bool(capture.error) and not says(capture.error, TorchError.RANK_ABSENT)
        if not failed or (refused and capture.place(failed[-1].site) == capture.place(capture.error_site)):
            return None  # Or torch took no such arguments: it did not come to waiting.
        event = failed[-1]
        peer = f"rank {event.peer}" if event.peer >= 0 else ""
        return Done(event.name, self.places(event.site, f"{event.name} waits here"), event.times, value=peer)

    def _steps(self) -> Iterator[Done]:
        for optimizer in self.capture.placement.optimizers:
            sites = [step.site for step in self.capture.steps if step.optimizer == optimizer.id]
            rates = [step.rates for step in self.capture.steps if step.optimizer == optimizer.id]
            yield Done(
                optimizer.type,
                self.places(sites[-1] if sites else -1, "step() called here"),
                optimizer.steps,
                tuple(self.names(t for t in optimizer.held if t in self.reduced)),
                str(rates[0]) if rates else "",
            )

    def _step_lines(self) -> Iterator[Done]:
        """How often each optimizer was stepped at each line; ``value`` is its place among the optimizers."""
        lines: dict[tuple[int, int], int] = {}
        for step in self.capture.steps:
            lines[step.optimizer, step.site] = lines.get((step.optimizer, step.site), 0) + 1
        for (optimizer, site), times in lines.items():
            kind = self.capture.placement.optimizers[optimizer].type
            yield Done(kind, self.places(site, "step() called here"), times, value=str(optimizer))

    def _each_line(self, events: Iterable[SchedulerStepped], role: str) -> Iterator[Done]:
        for site, alike in grouped(events, lambda event: event.site).items():
            yield Done(alike[0].type, self.places(site, role), len(alike))

    def _frozen(self) -> Iterator[Done]:
        for change in self.capture.requires_grad_changes:
            if self.capture.tensors[change.tensor].kind == "parameter":
                role = f"requires_grad set to {change.requires_grad} here"
                places = self.places(change.site, role)
                yield Done("requires_grad", places, 1, tuple(self.names([change.tensor])), str(change.requires_grad))


def _first_of(events: Iterable[WeightsMet]) -> list[WeightsMet]:
    """Those of models that were not met before, with other weights."""
    seen, first = set[int](), []
    for event in events:
        if event.what == "weights" and seen.isdisjoint(event.tensors):
            seen.update(event.tensors)
            first.append(event)
    return first


def summarized(capture: Capture) -> RankSummary:
    """The same of a capture alone."""
    return summary_of(capture, Reductions(capture, Timeline(capture), lambda: gradients_of(capture)))
