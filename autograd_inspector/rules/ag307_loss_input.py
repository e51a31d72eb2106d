"""AG307: a loss function that is given what another one expects."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op, Trait

_HANDED_ON = OpKind.VIEWS | OpKind.RESHAPES | OpKind.CONVERTS | OpKind.COPIES
_WRONG = {
    ("cross_entropy", "softmax"): ("logits, and takes their log-softmax itself", "takes the softmax twice"),
    ("binary_cross_entropy_with_logits", "sigmoid"): (
        "logits, and takes their sigmoid itself",
        "takes the sigmoid twice",
    ),
    ("nll_loss", "softmax"): ("log-probabilities", "is linear in the probabilities, and not their log-likelihood"),
}
"""(loss function, what made its input) -> what it expects, and what comes of it; see their pages in torch.nn.functional."""


_LOSSES = frozenset(loss for loss, _ in _WRONG)


class Given(Struct, frozen=True):
    """A loss function, and the op that made what it was given."""

    loss: Op
    made: Op


def check(analysis: Analysis) -> Iterator[Problem]:
    """A loss function that expects logits and is given probabilities: `cross_entropy(softmax(x), y)`.

    Why it matters
        It runs, and the loss falls at first. But probabilities lie between 0 and 1, so the second softmax is nearly
        uniform, the loss has a floor far above zero, and the gradients are small wherever the first softmax saturates.

    Example
        ::

            probabilities = net(x).softmax(dim=1)
            loss = torch.nn.functional.cross_entropy(probabilities, torch.arange(len(x)) % 2)
            loss.backward()

    Fix
        ::

            logits = net(x)
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(x)) % 2)
            loss.backward()

    References
        torch.nn.CrossEntropyLoss ("the input is expected to contain the unnormalized logits"), torch.nn.NLLLoss,
        torch.nn.BCEWithLogitsLoss.
    """
    told: set[object] = set()
    used = {node.op for node in analysis.capture.nodes}
    for op in analysis.capture.ops:
        made = _made(analysis, op) if op.index in used and not op.has(Trait.BACKWARD) else None
        if made is not None and (line_of(analysis, op.site), line_of(analysis, made.site)) not in told:
            told.add((line_of(analysis, op.site), line_of(analysis, made.site)))
            yield _problem(analysis, Given(op, made))


def _made(analysis: Analysis, op: Op) -> Op | None:
    """What made the input of a loss function, where that is the wrong kind of value."""
    if op.name not in _LOSSES or not op.inputs:
        return None
    made = analysis.flow.birth(op.inputs[0])
    while made is not None and is_a(made.name, _HANDED_ON) and made.inputs:
        made = analysis.flow.birth(made.inputs[0])
    return made if made is not None and (op.name, made.name) in _WRONG else None


def _problem(analysis: Analysis, given: Given) -> Problem:
    loss, made = given.loss, given.made
    expects, effect = _WRONG[loss.name, made.name]
    instead = "log_softmax" if loss.name == "nll_loss" else "the values before it"
    fix = (
        f"Give {loss.name}() {instead} in place of `{made.name}`; keep `{made.name}` for predictions."
        if instead != "log_softmax"
        else "Use log_softmax in place of softmax, or cross_entropy() on the logits."
    )
    return Problem(
        "warning",
        f"{loss.name}() expects {expects}; it is given the result of `{made.name}`, so the loss {effect}",
        fix,
        dedupe_locations(
            [
                *analysis.user_frames(loss.site, "given to the loss function here"),
                *analysis.user_frames(made.site, f"`{made.name}` computed here"),
            ]
        ),
        (made.name, loss.name),
        ops=(loss.index,),
    )
