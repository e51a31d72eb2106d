"""Fingerprints of what ranks are to have in common, one moment after the other: where they part, the ranks did."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from autograd_inspector.analysis.ranks.beginnings import Names, Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.ranks.running_statistics import running_statistics
from autograd_inspector.analysis.ranks.written_between import written_between
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import ReductionHooked, WeightsMet
from autograd_inspector.model.rank_summary import Done, Moment

_NUMBERS = 4_096
"""Fingerprints that a rank tells one by one; of later moments it tells one for all."""
_ROLES = {
    "weights": "called here",
    "buffers": "called here",
    "gradients": "step() called here",
    "stepped": "step() called here",
    "declared": "declared as replicated here",
    "came back": "to_local() called here",
    "dealt out": "distribute_tensor() called here",
}

_OF_TENSORS = ("declared", "came back", "dealt out")
"""Not of weights, which have names."""


def moments_of(
    capture: Capture, reductions: Reductions, places: Places, names: Names
) -> tuple[tuple[Done, ...], tuple[Moment, ...]]:
    """(the lines, the moments at them, in order); nothing where older ones are folded away."""
    met = capture.events_of(WeightsMet) if not capture.history.folded else ()
    events = [event for event in met if event.what in _ROLES]
    replicas = _replicas(reductions) if events else frozenset()
    read = _feeding(capture) if any(event.what == "buffers" for event in events) else frozenset()
    writers = _writers(capture) if read else {}
    running = running_statistics(capture, _buffers(events)) if read else set()
    sites: dict[int, list[int]] = {}
    lines: dict[tuple[str, int], int] = {}
    moments: list[Moment] = []
    told = 0
    # What an optimizer has before it runs the closure that makes the gradients.
    begun = min((step.at for step in capture.steps), default=len(capture.ops))
    early = {step.start for step in capture.steps if step.computed}
    for event in events:
        if event.what == "gradients" and event.at in early:
            continue
        if event.what == "dealt out" and event.at <= begun:
            continue  # Of weights one rank's are to be those of all when training begins.
        if event.what == "buffers":
            common = read if replicas else frozenset[int]()
            called = list(event.names)
        else:
            common, called = replicas, [""] if event.what in _OF_TENSORS else names(event.tensors)
        rows = zip(event.tensors, event.digests, event.parts, called, strict=False)
        keys = {
            f"{ranks}|{name}": digest
            for tensor, digest, ranks, name in rows
            if ranks or (tensor in common and (event.what != "buffers" or name in running))
        }
        if keys:
            told += len(keys)
            whole = {"|": crc32(repr(sorted(keys.items())).encode())}
            line = lines.setdefault((event.what, event.site), len(lines))
            if event.what == "buffers":
                pairs = zip(event.tensors, called, strict=False)
                sites[line] = [writers[t] for t, name in pairs if f"|{name}" in keys and t in writers]
            moments.append(Moment(line, keys if told <= _NUMBERS else whole))
    between = written_between(capture, events) if lines else {}
    dones = []
    for (what, site), line in lines.items():
        updated = [place for each in dict.fromkeys(sites.get(line, ())) for place in places(each, "updated here")]
        written = between.get(site, {}) if what == "stepped" else {}
        updated += [place for each in written for place in places(each, "weights written here")]
        hooked = _in_hooks(capture, reductions) if what == "gradients" else []
        updated += [place for each in hooked for place in places(each, "called in a communication hook here")]
        rewritten = tuple(names(tensor for tensors in written.values() for tensor in tensors)) if written else ()
        dones.append(Done(what, (*updated, *places(site, _ROLES[what])), 1, rewritten, "hooked" if hooked else ""))
    return tuple(dones), tuple(moments)


def _in_hooks(capture: Capture, reductions: Reductions) -> list[int]:
    """The lines of hooks at which they exchange the buckets of a wrapper."""
    if not capture.events_of(ReductionHooked):
        return []
    runs = [each.run for each in reductions.reached if not reductions.wrapper_of.keys().isdisjoint(each.reduced)]
    calls = [call for call in reductions.exchanges.calls if call.inside]
    return list(dict.fromkeys(c.site for c in calls if any(run.start <= c.at <= run.end for run in runs)))


def _buffers(events: Iterable[WeightsMet]) -> dict[str, set[int]]:
    """Name -> what was met as that buffer."""
    met: dict[str, set[int]] = {}
    for event in events:
        for tensor, name in zip(event.tensors, event.names, strict=False) if event.what == "buffers" else ():
            met.setdefault(name, set()).add(tensor)
    return met


def _replicas(reductions: Reductions) -> frozenset[int]:
    """The parameters that all ranks are to have alike: a wrapper sees to that, or the program's own calls."""
    everywhere = {wrapper.wrapper for wrapper in reductions.wrappers.values() if wrapper.world == reductions.world}
    tensors = {tensor for tensor, wrapper in reductions.wrapper_of.items() if wrapper.wrapper in everywhere}
    exchanges = reductions.exchanges
    alone = any(event.world != reductions.world for event in exchanges.calls if event.op)
    if not (exchanges.in_functions or exchanges.point_to_point or alone):
        tensors |= reductions.given_away
        tensors |= {tensor for each in reductions.reached for tensor in each.reduced}
    return frozenset(tensor for tensor in tensors if not reductions.averaged(tensor))


def _writers(capture: Capture) -> dict[int, int]:
    """Tensor -> the site of the last op that wrote to its memory, or made it."""
    last: dict[int, int] = {}
    for op in capture.ops:
        last.update((write.storage, op.site) for write in op.writes if write.storage >= 0)
    sites = {}
    for tensor in capture.tensors:
        if tensor.storage in last:
            sites[tensor.id] = last[tensor.storage]
        elif tensor.birth >= 0:
            sites[tensor.id] = capture.ops[tensor.birth].site
    return sites


def _feeding(capture: Capture) -> frozenset[int]:
    """The tensors that some op that autograd recorded was computed with, on whatever way, but not what it wrote to."""
    needed: set[int] = set()
    for op in reversed(capture.ops):
        written = {write.storage for write in op.writes} - {-1}
        if (
            op.last_seq > op.first_seq
            or not needed.isdisjoint(op.outputs)
            or any(w.tensor in needed for w in op.writes)
        ):
            needed.update(t for t in op.inputs if capture.tensors[t].storage not in written)
    return frozenset(needed)
