"""AG304: the first NaN or Inf (only where values were opted in)."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.values import filled, kept_finite, masked_finitely, within_range
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.endless_skips import is_endless
from autograd_inspector.analysis.gradients.nonfinite_origins import (
    forward_fault_in,
    given_up,
    hiding,
    holds_bad,
    is_meant,
    masked,
    ops_above,
    origin,
)
from autograd_inspector.analysis.gradients.scaled_losses import scaled_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.unset_values import starts_unset
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.torch_names import UPDATE_SCALE
from autograd_inspector.model.values import ValueFault
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag304_nan_or_inf.hidden_keys import hidden_keys
from autograd_inspector.rules.ag304_nan_or_inf.missing_values import computed_with_missing, missing_values
from autograd_inspector.rules.ag304_nan_or_inf.nan_fixes import (
    all_ignored,
    cure,
    explained_by_size,
    is_indefinite,
    overflow_cure,
)
from autograd_inspector.rules.ag304_nan_or_inf.sizes import by_step, size_of


def check(analysis: Analysis) -> Iterator[Problem]:
    """The first op that made NaN or Inf from finite values, in the forward or in backward. Needs `values=True`.

    Why it matters
        When the loss is NaN, all weights become NaN. In backward, `0 * inf` makes NaN where the forward was fine:
        `sqrt` at 0, a division in the branch that `torch.where` does not take.

    Example
        ::

            distance = (net(x) - net(y)).pow(2).sum(1).sqrt()
            distance.sum().backward()

    Fix
        ::

            distance = torch.linalg.vector_norm(net(x) - net(y), dim=1)
            distance.sum().backward()

    References
        torch.autograd.detect_anomaly; torch.where ("double where" against NaN gradients).
    """
    capture = analysis.capture
    for run in capture.backwards:
        found = says(run.error, TorchError.NAN_IN_BACKWARD)
        name = run.error.partition("'")[2].partition("'")[0] if found is not None else ""
        if name and run.nested_in < 0:
            yield from _by_anomaly_mode(analysis, run, name)
            return
    spoiled = {v.backward for v in capture.leaf_values if v.nonfinite}
    for run in capture.backwards:
        bad_roots = [r for r in run.roots if holds_bad(analysis, r)]
        if (run.index not in spoiled and not bad_roots) or starts_unset(capture, analysis.unset, run.roots):
            continue
        if given_up(analysis, run, spoiled):
            continue
        forward = origin(analysis, run) if bad_roots else None
        if forward is not None and _scaled_up(analysis, run, forward):
            continue
        if forward is not None:
            yield _produced(analysis, forward, run)
            return
        behind_mask = None if bad_roots or _skipped(analysis, run) else masked(analysis, run)
        if behind_mask is not None:
            spoilt = [v.tensor for v in capture.leaf_values if v.backward == run.index and v.nonfinite]
            names = tuple(names_of(analysis, sorted(set(spoilt))))
            gets = f"{summarize_names(names)} {agree(names, 'gets', 'get')} NaN"
            end = f"; the loss is finite, but backward goes through it: {gets}"
            masks = [op for op in hiding(analysis, run) if op.index != behind_mask.op][-1:]
            hidden = tuple(p for op in masks for p in analysis.user_frames(op.site, "hidden from the loss alone here"))
            yield _produced(analysis, behind_mask, run, end, names, hidden)
            return
        nodes = [f.node for f in capture.gradient_faults if f.backward == run.index and f.kind == "nonfinite"]
        skipped = bool(nodes) and _skipped(analysis, run)
        if nodes and (not skipped or is_endless(analysis, run, capture.nodes[nodes[0]])):
            end = "; the scaler skips every step, and a smaller scale does not help" if skipped else ""
            yield _in_backward(analysis, run, capture.nodes[nodes[0]], end=end)
            return
    yield from _swallowed(analysis)


def _by_anomaly_mode(analysis: Analysis, run: Backward, name: str) -> Iterator[Problem]:
    """torch's own anomaly mode found a NaN in what that node returned."""
    nodes = [node for node in analysis.nodes_of(run) if node.name.rpartition("::")[2] == name]
    failed = {node.index for node in analysis.nodes_of(run) if node.failed}
    before = [node for node in nodes if any(child in failed for child, _ in node.edges)]
    for node in [node for node in (*before, *nodes) if node.op >= 0][:1]:
        yield _in_backward(analysis, run, node, seen="anomaly mode stopped backward(): ")


def _skipped(analysis: Analysis, run: Backward) -> bool:
    """Whether a GradScaler let it go: searching for its scale, it skips the step of what overflowed."""
    capture = analysis.capture
    following = next((other for other in analysis.timeline.runs.since(run.end) if other is not run), None)
    end = len(capture.ops) if following is None else following.start
    used = bool(analysis.timeline.steps.places(run.end, end))
    updated = any(op.name == UPDATE_SCALE for op in capture.ops[run.end :])
    return (bool(capture.steps) or updated) and not used and scaled_by(analysis, run) is not None


def _scaled_up(analysis: Analysis, run: Backward, fault: ValueFault) -> bool:
    """Whether it was the scale that made a loss infinite which was finite before."""
    scaled = scaled_by(analysis, run)
    return scaled is not None and fault.op == scaled.index and _skipped(analysis, run)


def _swallowed(analysis: Analysis) -> Iterator[Problem]:
    """An Inf that a later op made finite again (``x / inf``), where parameters above it get nothing but zeros."""
    capture = analysis.capture
    moving = {v.tensor for v in capture.leaf_values if not v.zero}
    leaves_of_run: dict[int, set[int]] = {}
    for value in capture.leaf_values:
        leaves_of_run.setdefault(value.backward, set()).add(value.tensor)
    for run in capture.backwards:
        still = leaves_of_run.get(run.index, set()) - moving
        still &= capture.optimized or still
        fault = forward_fault_in(analysis, ops_above(analysis, run)) if still else None
        if fault is None or fault.op < 0 or is_meant(analysis, fault) or not all(r.finite for r in fault.inputs):
            continue
        starts = [(r.tensor, fault.op + 1) for r in fault.outputs]
        above = {t for op, _ in analysis.flow.upstream(starts, lambda o, t: True) for t in op.inputs}
        if still & above:
            dead = tuple(names_of(analysis, sorted(still & above)))
            made = "NaN" if any(r.nan for r in fault.outputs) else "Inf"
            never = f"{summarize_names(dead)} {agree(dead, 'never moves', 'never move')}"
            end = f"; the loss is finite again, but nothing comes back through {made}: {never}"
            yield _produced(analysis, fault, run, end, dead)
            return


def _produced(
    analysis: Analysis,
    fault: ValueFault,
    run: Backward,
    end: str = "",
    spoilt: tuple[str, ...] = (),
    hidden: tuple[Location, ...] = (),
) -> Problem:
    missing = missing_values(analysis, fault, run)
    if missing is not None:
        return computed_with_missing(analysis, missing, fault, run, spoilt, hidden)
    what = "NaN" if any(r.nan for r in fault.outputs) else "Inf"
    names = join_names(name_of(analysis, r.tensor) for r in fault.outputs)
    ends = analysis.user_frames(run.site, "backward called here")
    if fault.op < 0:
        met = analysis.capture.ops[fault.met_by]
        return Problem(
            "error",
            f"{names} already holds {what} when `{met.name}` first reads it: the data, not an op of the capture, is the "
            f"origin ({fault.outputs[0]})",
            _DATA,
            (*analysis.user_frames(met.site, f"{what} enters here"), *ends),
            (names,),
            ops=(met.index,),
        )
    op = analysis.capture.ops[fault.op]
    into = f", in {names}" if "[" not in names else f", in its result ({names})"
    into = "" if names == f"the result of `{op.name}`" else into
    sound = all(r.finite for r in fault.inputs)
    size = size_of(analysis, fault, op) if explained_by_size(op, what) else None
    target = all_ignored(analysis, fault, op)
    hidden_by = None if sound or what == "Inf" else hidden_keys(analysis, fault, op, _infinities(analysis, op))
    input_texts = [f"{name_of(analysis, r.tensor)}: {r}" for r in fault.inputs]
    origin = f"from {'finite' if sound else 'infinite'} values"
    why, fix = "", overflow_cure(analysis, fault, op) if sound and what == "Inf" else cure(op)
    if op.has(Trait.STEP):
        why, fix = by_step(analysis, op)
    elif not op.inputs:
        origin, fix = "from numbers that are not tensors yet", _DATA
    elif size is not None:
        why, fix = size.why, size.fix or fix
    elif hidden_by is not None:
        fix = hidden_by.fix
    elif not sound and is_indefinite(op) and _infinite(analysis, op) is not None:
        fix = _FINITE_MASK
    elif target:
        why = f": every target equals ignore_index ({target}), so the mean is over zero elements"
        fix = (
            f"Skip a batch without any target (`(labels != {target}).any()`), and check that truncation keeps some; or "
            "divide reduction='sum' by the number of targets, at least 1."
        )
    return Problem(
        "error",
        f"`{op.name}` makes the first {what}{into}, {origin}{end or why}",
        fix,
        (
            *analysis.user_frames(op.site, f"first {what} here"),
            *(size.places if size is not None else ()),
            *(() if sound else _infinity_set(analysis, op)),
            *(() if hidden_by is None else hidden_by.places),
            *hidden,
            *ends,
        ),
        (*spoilt, names, op.name, *([hidden_by.name] if hidden_by is not None and hidden_by.name else [])),
        tuple(f"It was given {text}." for text in dict.fromkeys(input_texts)),
        (op.index,),
        tuple(_all_kept_finite(analysis, fault, op, run, hidden=bool(hidden)))
        if sound
        else (*_masked(analysis, op), *(filled(analysis, fault, run) if hidden else ())),
    )


def _all_kept_finite(
    analysis: Analysis, fault: ValueFault, op: Op, run: Backward, *, hidden: bool
) -> Iterator[Remedies]:
    """The op, and the others like it before that backward, which made NaN or Inf of finite values themselves."""
    ops = analysis.capture.ops
    if not any(values.nan for values in fault.outputs):
        yield from within_range(analysis, op)
        if is_a(op.name, OpKind.CHOOSES | OpKind.SETS_NUMBER):
            yield from masked_finitely(analysis, op)
            return
    if is_a(op.name, OpKind.POWERS) and any(values.size > 1 for values in fault.inputs if values.low >= 0):
        return
    if hidden:
        yield from filled(analysis, fault, run)
    alike = [
        ops[fault.op]
        for fault in analysis.value_faults
        if op.index <= fault.op < run.start and ops[fault.op].name == op.name and all(r.finite for r in fault.inputs)
    ]
    by_site = {each.site: each for each in alike}
    each_kept = [next(kept_finite(analysis, one, forward=True), ()) for one in by_site.values()]
    if len(each_kept) > 1 and all(each_kept):
        yield tuple(dict.fromkeys(remedy for remedies in each_kept for remedy in remedies))
    yield from kept_finite(analysis, op, forward=True)


_FINITE_MASK = "inf - inf and 0 * inf are NaN: mask with a finite number, `masked_fill(mask, -1e9)`."
_DATA = "Check the data: `torch.isfinite(batch).all()`."


def _infinity_set(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """Where the program itself set what an op was given to infinity: a mask."""
    made = _infinite(analysis, op)
    return () if made is None else analysis.user_frames(made.site, "set to infinity here")


def _infinite(analysis: Analysis, op: Op) -> Op | None:
    return next(iter(_infinities(analysis, op)), None)


def _infinities(analysis: Analysis, op: Op) -> list[Op]:
    """What set values to infinity on the way to an op, and was meant to: the last first."""
    above = {
        above.index for above, _ in analysis.flow.upstream([(t, op.index) for t in op.inputs], lambda _o, _t: True)
    }
    meant = {f.op for f in analysis.capture.value_faults if f.op in above and is_meant(analysis, f)}
    return [analysis.capture.ops[index] for index in sorted(meant, reverse=True)]


def _masked(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A softmax, or a difference or product behind one, whose mask is a finite number."""
    if is_a(op.name, OpKind.SOFTMAX) or is_indefinite(op):
        for made in _infinities(analysis, op):
            yield from masked_finitely(analysis, made)


def _in_backward(
    analysis: Analysis, run: Backward, node: Node, *, seen: str = "the loss is finite, but ", end: str = ""
) -> Problem:
    op = analysis.capture.op_of(node)
    short = node.name.rsplit("::", 1)[-1]
    behind = sorted(analysis.leaves_below(node))
    names = [name_of(analysis, t) for t in behind]
    name = f"`{op.name}`" if op is not None else short
    made = [name_of(analysis, t) for t in op.outputs] if op is not None else []
    return Problem(
        "error",
        f"{seen}{short} makes the first NaN or Inf of the backward pass: the derivative of {name} is not "
        f"finite there, and {summarize_names(names)} {agree(names, 'gets', 'get')} it{end}",
        cure(op),
        analysis.places((op, "derivative is not finite here"), (run, "backward called here")),
        (*made, *names),
        ops=(op.index,) if op is not None else (),
        cures=tuple(kept_finite(analysis, op, forward=False)),
    )
