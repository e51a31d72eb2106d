"""AG104: gradient that an op without a derivative cuts off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import caused_by, cut_problem, described
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.values import looked_up_softly, sampled_through, straight_through
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import SAMPLING, GradientCut, differentiable
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.scored_samples import ScoredSamples
from autograd_inspector.analysis.gradients.hidden_samples import half_hidden
from autograd_inspector.analysis.gradients.zero_derivative import Flat, flattened
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Rename
from autograd_inspector.model.rewrites import Spread
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag104_non_differentiable_op.refused import refused


def check(analysis: Analysis) -> Iterator[Problem]:
    """An op without derivative between the loss and trainable parameters: argmax, comparison, integer cast, sampling.

    Why it matters
        The result is integer or boolean, or the op has no derivative formula: parameters before it get no gradient, or,
        like an encoder before `sample()` with a KL term, gradients only from the other terms.

    Example
        ::

            choice = policy(x).argmax(dim=1)
            loss = values(choice).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            weights = policy(x).softmax(dim=1)
            loss = (weights @ values.weight).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        "Gradients for non-differentiable functions" in the autograd notes of the PyTorch documentation.
    """
    yield from refused(analysis)
    for cut in caused_by(analysis, "non-differentiable"):
        op = cut.ops[0]
        drawn = analysis.capture.regions[op.region].library.startswith(SAMPLING)
        call = analysis.capture.call_of(op)
        what = f"`{op.name}`" if not drawn else f"sample() of a distribution (`{op.name}`)"
        what += f" in {call.type}" if call is not None else ""
        fix = (
            f"Train on the value before `{op.name}` (a probability, a softmax, a straight-through estimator "
            "`soft + (hard - soft).detach()`), and keep the hard value for reporting."
        )
        if drawn or is_a(op.name, OpKind.DRAWS):
            fix = _RSAMPLE
        yield cut_problem(
            analysis,
            cut,
            f"{what} has no derivative: it cuts {described(analysis, op)} from the graph",
            fix,
            (
                *analysis.user_frames(op.site, "drawn here" if drawn else "no derivative here"),
                *analysis.places((_back_to_numbers(analysis, cut), "the index becomes a number again here")),
            ),
            tuple(_cures(analysis, op, drawn=drawn)),
        )
    for draw in half_hidden(analysis):
        names = [name_of(analysis, t) for t in draw.parameters]
        yield Problem(
            "warning",
            f"sample() of a distribution (`{draw.op.name}`) lets no gradient through: {summarize_names(names)} "
            f"{agree(names, 'learns', 'learn')} nothing from what is computed of the sample, only from the other "
            "terms of the loss",
            _RSAMPLE,
            analysis.places((draw.op, "drawn here"), (draw.backward, "backward called here")),
            tuple(names),
            ops=(draw.op.index,),
            cures=tuple(_cures(analysis, draw.op, drawn=True)),
        )
    samples = ScoredSamples(Leaves(analysis.capture, analysis.flow))
    for found in flattened(analysis, OpKind.DRAWS):
        # What else a mask or a choice could be learned from is the program's business, a policy's action is scored.
        hidden = found.partial and not is_a(found.op.name, OpKind.DRAWS_DISCRETE)
        lost = hidden and not samples.scored(found.op, found.parameters, len(analysis.capture.ops))
        yield _zero_derivative(analysis, found, "info" if found.partial and not lost else "warning")


def _back_to_numbers(analysis: Analysis, cut: GradientCut) -> Op | None:
    """What makes numbers of an index on its way to the loss: a scatter of ones, where the scores themselves could go."""
    capture = analysis.capture
    todo = [t for t in cut.through if not differentiable(capture.tensors[t].dtype)]
    if not todo or len(todo) < len(cut.through):
        return None
    leading = {op.index for op, _ in analysis.flow.upstream((root, cut.backward.start) for root in cut.backward.roots)}
    met = set(todo)
    for tensor in todo:  # It grows on the way.
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if index not in leading or index <= cut.ops[0].index:
                continue
            if is_a(op.name, OpKind.SELECTS | OpKind.RENORMALISES):
                continue  # What it picks is another number.
            if any(differentiable(capture.tensors[made].dtype) for made in op.outputs):
                return op
            todo += [made for made in op.outputs if made not in met]
            met.update(op.outputs)
    return None


def _zero_derivative(analysis: Analysis, found: Flat, severity: Severity) -> Problem:
    names = [name_of(analysis, t) for t in found.parameters]
    effect = (
        f"{summarize_names(names)} {agree(names, 'learns', 'learn')} from other parts of the loss, and "
        f"{agree(names, 'gets', 'get')} no gradient through this one"
        if found.partial
        else f"{summarize_names(names)} {agree(names, 'gets', 'get')} gradients that are all zero"
    )
    return Problem(
        severity,
        f"`{found.op.name}` draws a sample, whose derivative is zero: {effect}",
        "Write the sample as a function of its parameters and of noise: `mean + std * torch.randn_like(std)` "
        "(rsample() of a distribution), or train through log_prob(sample).",
        analysis.user_frames(found.op.site, "drawn here"),
        tuple(names),
        ops=(found.op.index,),
        cures=tuple(_cures(analysis, found.op, drawn=False)),
    )


_RSAMPLE = (
    "Use rsample() where the distribution has it (Normal, Gumbel, RelaxedOneHotCategorical, ...), or train through "
    "log_prob(sample)."
)


def _cures(analysis: Analysis, op: Op, *, drawn: bool) -> Iterator[Remedies]:
    place = analysis.capture.place(op.site)
    yield from sampled_through(analysis, op)
    if drawn and place is not None:
        if not is_a(op.name, OpKind.DRAWS_DISCRETE):
            yield (Rename(place, "rsample"),)
    elif op.name == "linspace" and place is not None:
        yield (Spread(place),)
    elif is_a(op.name, OpKind.DRAWS_DISCRETE) or not is_a(op.name, OpKind.DRAWS):
        yield from straight_through(analysis, op)
        yield from looked_up_softly(analysis, op)
