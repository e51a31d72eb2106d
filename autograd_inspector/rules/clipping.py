"""Clipping that clips nothing, and gradients used while a GradScaler still has them scaled up."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op
from autograd_inspector.rules.catalogue import Facts, folded, unique
from autograd_inspector.rules.clearing import clears, gradients_of

_CLIP = "clip_grad"
_ZEROING = {"zero_", "_foreach_zero_"}


def _clipping_sites(facts: Facts) -> dict[int, tuple[str, int]]:
    """Sites of the calls of torch's clipping functions and their lines; an infinite limit measures, it does not clip."""
    found = {}
    for number in range(len(facts.capture.sites)):
        place = facts.capture.place(number)
        if place is not None and _CLIP in place.expression.split("(", maxsplit=1)[0] and "inf" not in place.expression:
            found[number] = (place.filename, place.lineno)
    return found


def misplaced_clipping(facts: Facts) -> Iterator[Finding]:
    """Clipping after step(), before backward(), or of a generator that is used up."""
    runs = [r for r in facts.capture.backwards if r.api == "backward" and not r.error]
    sites = _clipping_sites(facts) if runs else {}
    reads_of: dict[tuple[str, int], list[GradRead]] = {}
    for read in facts.capture.grad_reads:
        if read.site in sites:
            reads_of.setdefault(sites[read.site], []).append(read)
    told: set[tuple[str, int]] = set()
    for site, line in sites.items():
        if line in told:
            continue
        reads = reads_of.get(line, [])
        if not reads:  # Without parameters clipping returns a norm of zero that it makes anew.
            if any(op.site == site and op.name == "tensor" and op.index >= runs[0].end for op in facts.capture.ops):
                told.add(line)
                yield _clip_finding(facts, site, [], "", -1)
            continue
        verdicts = [_verdict(facts, read, runs) for read in reads]
        what = verdicts[-1][0]
        if what and all(verdict[0] in {what, "early"} for verdict in verdicts):
            told.add(line)
            yield _clip_finding(facts, site, reads, what, verdicts[-1][1])


def _verdict(facts: Facts, read: GradRead, runs: list[Backward]) -> tuple[str, int]:
    """("late" / "early" / "" for right, the site of the step or of the clearing before it)."""
    capture = facts.capture
    computed = max((r.end for r in runs if r.end <= read.at and read.tensor in r.reached), default=-1)
    cleared = [c for c in capture.changes if computed <= c.at <= read.at and clears(facts, c, [read.tensor])]
    if read.gradient < 0:
        return "early", cleared[-1].site if cleared else -1
    if computed < 0:
        return "", -1
    stepped = [
        s for s in capture.steps if computed <= s.at < read.at and any(p.tensor == read.tensor for p in s.parameters)
    ]
    if stepped:
        return "late", stepped[-1].site
    own = gradients_of(facts, [read.tensor])
    writes = [op for op in capture.ops[computed : read.at] if any(w.tensor in own for w in op.writes)]
    if writes and writes[-1].name in _ZEROING:
        return "early", writes[-1].site
    return "", -1


def _clip_finding(facts: Facts, site: int, reads: list[GradRead], what: str, other: int) -> Finding:
    names = [facts.name(read.tensor) for read in reads]
    text = {
        "late": f"the gradients of {folded(names)} are clipped after step() has used them",
        "early": f"the gradients of {folded(names)} are clipped before backward() has computed them",
        "": "clipping is given no parameters at all: a generator such as net.parameters() can be gone through only once, "
        "and something else (the optimizer) has used it up",
    }[what]
    fix = "Clip between backward() and step()."
    if not what:
        fix = "Keep a list, `params = list(net.parameters())`, or call net.parameters() again for clipping."
    role = "step() uses the gradients here" if what == "late" else "gradients cleared here"
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"{text}: clip_grad has no effect",
        fix,
        unique([*facts.chain(site, "clipped here"), *(facts.chain(other, role) if other >= 0 else ())]),
        tuple(dict.fromkeys(names)) or ("clip_grad",),
    )


def scaled_gradients(facts: Facts) -> Iterator[Finding]:
    """Gradients of ``scaler.scale(loss)`` that are clipped, or stepped with, before ``unscale_``."""
    capture = facts.capture
    told: set[int] = set()
    clips = set(_clipping_sites(facts))
    for run in capture.backwards:
        scaled = _scaled_by(facts, run) if run.api == "backward" and not run.error else None
        if scaled is None:
            continue
        scale = scaled.inputs[-1]
        undone = [op for op in capture.ops[run.end :] if op.name in {"double", "reciprocal"} and scale in op.inputs]
        following = min(
            (r.start for r in capture.backwards if r.start >= run.end and r.index > run.index), default=len(capture.ops)
        )
        for at, site, what, tensor in sorted(_uses(facts, run, clips, following)):
            ready = any(op.index <= at and _unscales(facts, op, tensor) for op in undone)
            if not ready and site not in told:
                told.add(site)
                yield _scaled_finding(facts, site, scaled, what, run)


def _uses(facts: Facts, run: Backward, clips: set[int], end: int) -> Iterator[tuple[int, int, str, int]]:
    """(op index, site, "clipped" / "stepped", parameter) of what uses this run's gradients."""
    for read in facts.capture.grad_reads:
        if read.site in clips and run.end <= read.at < end + 1 and read.tensor in run.reached:
            yield read.at, read.site, "clipped", read.tensor
    for step in facts.capture.steps:
        held = [p.tensor for p in step.parameters if p.gradient >= 0 and p.tensor in run.reached]
        if run.end <= step.at < end and held:
            yield step.at, step.site, "stepped", held[0]


def _unscales(facts: Facts, op: Op, tensor: int) -> bool:
    """Whether the unscaling that this op belongs to went over the parameter's gradient."""
    return any(r.site == op.site and r.tensor == tensor and r.at >= op.index for r in facts.capture.grad_reads)


def _scaled_by(facts: Facts, run: Backward) -> Op | None:
    """The multiplication by a GradScaler's scale that made the root of a backward."""
    capture = facts.capture
    scales = {op.inputs[0] for op in capture.ops if op.name == "_amp_update_scale_" and op.inputs}
    for root in run.roots:
        made = facts.flow.birth(root)
        if made is None or made.name != "mul" or len(made.inputs) < 2:
            continue
        place = capture.place(made.site)
        if made.inputs[-1] in scales or (place is not None and ".scale(" in place.expression):
            return made
    return None


def _scaled_finding(facts: Facts, site: int, scaled: Op, what: str, run: Backward) -> Finding:
    names = [facts.name(t) for t in run.reached]
    text, fix = {
        "clipped": (
            "are clipped while they are still multiplied by the loss scale: almost any norm is above the limit",
            "Call scaler.unscale_(optimizer) before clipping.",
        ),
        "stepped": (
            "are used by optimizer.step() while they are still multiplied by the loss scale",
            "Call scaler.step(optimizer) and scaler.update() instead of optimizer.step(): it unscales the gradients first.",
        ),
    }[what]
    return Finding(
        "AG305",
        "gradient-protocol",
        "error" if what == "stepped" else "warning",
        f"the gradients of {folded(names)} come from scaler.scale(loss) and {text}",
        fix,
        unique([*facts.chain(site, f"scaled gradients {what} here"), *facts.chain(scaled.site, "loss scaled here")]),
        tuple(dict.fromkeys(names)),
    )
