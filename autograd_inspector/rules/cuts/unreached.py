"""AG101 and AG104: gradient that an operation cuts off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.cuts.cut_findings import caused_by, cut_finding, described
from autograd_inspector.rules.cuts.cutting import DETACHING, SAMPLING, Severed, bypassed, copied_in
from autograd_inspector.rules.cuts.flat import DRAWS, flattened
from autograd_inspector.rules.cuts.sampled import half_hidden
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique


@rule("AG101", "detached")
def detached(facts: Facts) -> Iterator[Finding]:
    """A `.detach()`, `.detach_()` or `.data` cuts what is meant to learn.

    Why it matters
        A detached tensor has the same values and no history. What lies behind it gets no gradient: backward raises
        "does not require grad" when nothing else leads to a parameter, and says nothing at all when something does.

    Example
        ::

            hidden = encoder(x).detach()
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            hidden = encoder(x)
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.Tensor.detach; "Autograd mechanics" in the notes of the PyTorch documentation.
    """
    for cut in caused_by(facts, "detached"):
        what, kept, fix = _cutting(facts, cut)
        wrapped = [c for c in facts.capture.changes if c.kind == "wrapped" and cut.through[0] in c.tensors]
        site = wrapped[0].site if wrapped else cut.ops[0].site
        yield cut_finding(facts, "AG101", cut, f"{what} {kept}", fix, facts.chain(site, "detached here"))


@rule("AG104", "non-differentiable-op")
def non_differentiable(facts: Facts) -> Iterator[Finding]:
    """An op without derivative between the loss and what is meant to learn: argmax, comparison, integer cast, sampling.

    Why it matters
        The result is integer or boolean, or has no derivative formula: nothing behind it learns, or, like the
        encoder behind a `sample()` beside a KL term, only from the other terms.

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
    for cut in caused_by(facts, "non-differentiable"):
        op = cut.ops[0]
        drawn = facts.capture.regions[op.region].library.startswith(SAMPLING)
        call = facts.capture.calls[op.call] if op.call >= 0 else None
        what = f"`{op.name}`" if not drawn else f"sample() of a distribution (`{op.name}`)"
        what += f" in {call.type}" if call is not None else ""
        fix = (
            f"Train on the value before `{op.name}` (a probability, a softmax, a straight-through estimator "
            "`soft + (hard - soft).detach()`), and keep the hard value for reporting."
        )
        if drawn or op.name in _DRAWING:
            fix = _RSAMPLE
        yield cut_finding(
            facts,
            "AG104",
            cut,
            f"{what} has no derivative: it cuts {described(facts, op)} from the graph",
            fix,
            facts.chain(op.site, "drawn here" if drawn else "no derivative here"),
        )
    for draw in half_hidden(facts):
        names = [facts.name(t) for t in draw.parameters]
        yield Finding(
            "AG104",
            "non-differentiable-op",
            "warning",
            f"sample() of a distribution (`{draw.op.name}`) lets no gradient through: {folded(names)} "
            f"{'learn' if len(names) > 1 else 'learns'} nothing from what is computed of the sample, only from the other "
            "terms of the loss",
            _RSAMPLE,
            unique(
                [
                    *facts.chain(draw.op.site, "drawn here"),
                    *facts.chain(draw.backward.site, "backward called here"),
                ]
            ),
            tuple(dict.fromkeys(names)),
            ops=(draw.op.index,),
        )
    for op, parameters in flattened(facts, DRAWS):
        names = [facts.name(t) for t in parameters]
        yield Finding(
            "AG104",
            "non-differentiable-op",
            "warning",
            f"`{op.name}` draws a sample, whose derivative is zero: {folded(names)} "
            f"{'get' if len(names) > 1 else 'gets'} gradients that are all zero",
            "Write the sample as a function of its parameters and of noise: `mean + std * torch.randn_like(std)` "
            "(rsample() of a distribution), or train through log_prob(sample).",
            facts.chain(op.site, "drawn here"),
            tuple(dict.fromkeys(names)),
            ops=(op.index,),
        )


def _cutting(facts: Facts, cut: Severed) -> tuple[str, str, str]:
    """(what cuts, what it does, what to write instead)."""
    op = cut.ops[0]
    what = _SPELLINGS.get(op.name, "nn.Parameter()")
    if op.name == "set_data":
        target = joined((facts.name(write.tensor) for write in op.writes), 3)
        return what, f"gives {target} the values of a computed tensor without their history", _FUNCTIONAL
    if op.name == "grad":
        tensors = facts.capture.tensors
        named = [t for t in op.outputs if tensors[t].names or tensors[t].variable]
        result = joined(map(facts.name, named), 3) or "a gradient"
        fix = "Write torch.autograd.grad(..., create_graph=True) where its result takes part in the loss."
        return what, f"returns {result} without a graph, for create_graph is False", fix
    if bypassed(facts.capture, op, cut.through[0]):
        kept = f"changes {facts.name(cut.through[0])} without recording the history of what it writes"
        return f"`{op.name}` through an alias (.data or .detach())", kept, _FUNCTIONAL
    if copied_in(facts.capture, op, cut.through[0]):
        target = joined((facts.name(write.tensor) for write in op.writes), 3)
        place = facts.capture.place(op.site)
        loading = place is not None and "load_state_dict" in place.source
        by = "load_state_dict()" if loading else f"`{op.name}`"
        return by, f"gives {target} the values of a computed tensor without their history", _FUNCTIONAL
    if op.name not in DETACHING:
        return what, f"makes a new leaf of the result of `{op.name}`, without its history", _FUNCTIONAL
    fix = f"Use the tensor itself instead of {what} where gradient has to flow; keep {what} for logging."
    if _serves_again(facts, cut):
        fix = (
            "Compute it anew for each backward(), with the parameters as they are then: its graph would serve the first "
            f"backward only. Keep the {what} copy for what is compared with it."
        )
    return what, f"cuts {described(facts, op)} from the graph", fix


def _serves_again(facts: Facts, cut: Severed) -> bool:
    """Whether several backwards start from what was computed of one and the same cut result."""
    first = cut.ops[0]
    runs = [r for r in facts.capture.backwards if r.api == "backward" and not r.error and r.start > first.index][:2]
    return len(runs) == 2 and all(
        any(op.index == first.index for op, _ in facts.flow.upstream([(root, run.start) for root in run.roots]))
        for run in runs
    )


_RSAMPLE = (
    "Use rsample() where the distribution has it (Normal, Gumbel, RelaxedOneHotCategorical, ...), or train through "
    "log_prob(sample)."
)
_FUNCTIONAL = (
    "Use the computed tensor itself in the forward; torch.func.functional_call(module, {name: tensor}, args) lets a "
    "module compute with it."
)
_SPELLINGS = {
    "detach": ".detach()",
    "detach_": ".detach_()",
    "data": ".data",
    "set_data": "an assignment to .data",
    "grad": "torch.autograd.grad",
}
_DRAWING = {"multinomial", "bernoulli", "bernoulli_", "poisson", "normal", "rrelu_with_noise"}
