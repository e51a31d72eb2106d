"""What a rank does to the gradients, the optimizers and the precision of its replica, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.seen_gradients import gradients_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated, StateLoaded, WrapperCalled
from autograd_inspector.model.rank_summary import Done

Places = Callable[[int, str], tuple[Location, ...]]
"""(site, role) -> the program's lines."""
Names = Callable[[Iterable[int]], list[str]]

_REPLACES = OpKind.COPIES_INTO | OpKind.DETACHES | OpKind.TAKES_NO_VALUES
"""They give other values, not new ones of the old: a swap of averaged weights, a restored copy."""
_MOST = 1024
"""Steps whose moments are compared."""
_SEARCHES = (Trait.STEP, Trait.COLLECTIVE, Trait.BACKWARD)


class Updates:
    """Questions about one capture."""

    def __init__(self, capture: Capture, reductions: Reductions, places: Places, names: Names) -> None:
        self._capture = capture
        self._reductions = reductions
        self._places = places
        self._names = names
        reduced = {tensor for each in reductions.reached for tensor in each.reduced}
        self._reduced = {tensor for tensor in reduced if not reductions.averaged(tensor)}

    def gradient_edits(self) -> Iterator[Done]:
        """Lines that write to gradients when they are reduced already, before the step; none where older are folded."""
        capture, exchanges = self._capture, self._reductions.exchanges
        if capture.history.folded or not self._reduced:
            return
        gradients = gradients_of(capture)
        lines: dict[tuple[str, int], tuple[list[int], set[int]]] = {}
        for reached in self._reductions.reached:
            start, end = reached.run.end, reached.step.updates_from
            last = max((event.at + 1 for event in exchanges.within(start, end)), default=start)
            memory = {exchanges.storage(g): t for t in reached.reduced for g in gradients.get(t, ())}
            memory.pop(-1, None)
            for op in capture.ops[last:end]:
                written = _written(op, memory)
                if written:
                    tensors, steps = lines.setdefault((op.name, op.site), ([], set()))
                    tensors += written
                    steps.add(reached.step.at)
            for write in capture.grad_writes:
                if last <= write.at <= end and write.tensor in reached.reduced and write.gradient >= 0:
                    tensors, steps = lines.setdefault(("grad", write.site), ([], set()))
                    tensors.append(write.tensor)
                    steps.add(reached.step.at)
        for (name, site), (tensors, steps) in lines.items():
            named = tuple(dict.fromkeys(self._names(tensors)))
            yield Done(name, self._places(site, "gradients changed here"), len(steps), named)

    def state_loads(self) -> Iterator[Done]:
        """Optimizers of reduced parameters that were given a saved state."""
        for load in self._capture.events_of(StateLoaded):
            concerned = [tensor for tensor in load.tensors if tensor in self._reduced]
            if concerned:
                yield Done(load.api, self._places(load.site, "state loaded here"), 1, tuple(self._names(concerned)))

    def autocast(self) -> Iterator[Done]:
        """Lines that compute with reduced parameters in a lower precision because autocast is on."""
        capture = self._capture
        lines: dict[tuple[int, str], list[int]] = {}
        for op in capture.ops if self._reduced else ():
            if op.has(Trait.AUTOCAST) and op.outputs and not op.has(Trait.STEP):
                used = [tensor for tensor in op.inputs if tensor in self._reduced]
                dtype = capture.tensors[op.outputs[0]].dtype
                if used and dtype != capture.tensors[used[0]].dtype:
                    lines.setdefault((op.site, dtype), []).extend(used)
        for (site, dtype), tensors in lines.items():
            named = tuple(dict.fromkeys(self._names(tensors)))
            yield Done("autocast", self._places(site, f"computed in {dtype} here"), len(tensors), named, dtype)

    def teachers(self) -> tuple[list[Done], tuple[str, ...]]:
        """Lines that compute new values of named weights that no step moves, and the names of those a loss is made of."""
        capture = self._capture
        stepped = {p.tensor for step in capture.steps for p in step.parameters}
        if capture.history.folded or not self._reduced:
            return [], ()
        weights = {
            tensor.storage: tensor.id
            for tensor in capture.tensors
            if tensor.kind == "parameter" and tensor.storage >= 0 and tensor.names and tensor.id not in stepped
        }
        read: dict[int, None] = {}
        lines: dict[tuple[str, int], list[int]] = {}
        end = max((run.start for run in capture.backwards), default=0)
        for op in capture.ops if weights else ():
            if any(op.has(trait) for trait in _SEARCHES):
                continue
            if op.call >= 0 and op.index < end:
                read.update((t, None) for t in op.inputs if weights.get(capture.tensors[t].storage) == t)
            written = [weights[write.storage] for write in op.writes if write.storage in weights]
            if written and computes_in_place(op.name) and len(op.inputs) > 1:
                lines.setdefault((op.name, op.site), []).extend(written)
        edits = [
            Done(
                name,
                self._places(site, "weights changed here"),
                len(tensors),
                tuple(dict.fromkeys(self._names(tensors))),
            )
            for (name, site), tensors in lines.items()
        ]
        return edits, tuple(self._names(read)) if read else ()

    def clocks(self, joined: Sequence[Communicated]) -> Iterator[tuple[int, ...]]:
        """For each optimizer how much the ranks had done together before each of its steps.

        Counted are the calls that all make, and the forwards of wrappers whose backward reduces. Nothing where older
        steps are folded away.
        """
        capture = self._capture
        moments = [event.at for event in joined]
        moments += [call.at for call in capture.events_of(WrapperCalled) if call.synced and call.learns]
        for optimizer in capture.placement.optimizers:
            steps = [step for step in capture.steps if step.optimizer == optimizer.id and not step.error]
            if capture.history.folded or len(steps) > _MOST:
                yield ()
            else:
                yield tuple(sum(moment <= step.updates_from for moment in moments) for step in steps)

    def backwards(self) -> Iterator[Done]:
        """Of each wrapper the reducing forwards that a backward followed, whether or not it came to its end."""
        capture = self._capture
        if capture.history.folded:
            return
        for wrapper in self._reductions.wrappers.values():
            calls = [c for c in capture.events_of(WrapperCalled) if c.wrapper == wrapper.wrapper and c.learns]
            managed = set(wrapper.tensors)
            ends = [*(call.at for call in calls[1:]), len(capture.ops) + 1]
            sites = []
            for call, end in zip(calls, ends, strict=False):
                runs = [r for r in capture.backwards if call.at <= r.start < end and not managed.isdisjoint(r.reached)]
                if call.synced and runs:
                    sites.append(runs[0].site)
            yield Done(wrapper.type, self._places(sites[-1] if sites else -1, "backward() called here"), len(sites))


def computes_in_place(name: str) -> bool:
    """Whether an op that writes to weights computes with what they were: ``mul_``, ``clamp_``."""
    return name != "zero_grad" and not is_a(name, _REPLACES)


def _written(op: Op, memory: dict[int, int]) -> list[int]:
    if not op.writes or op.name == "zero_grad" or any(op.has(trait) for trait in _SEARCHES):
        return []
    return [memory[write.storage] for write in op.writes if write.storage in memory]
