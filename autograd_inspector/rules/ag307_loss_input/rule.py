"""AG307: a loss function that is given what another one expects."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.losses import as_expected, prediction_first
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.inputs import Swapped, WrongInput, swapped, wrong_inputs
from autograd_inspector.model.finding import Problem
from autograd_inspector.rules.ag307_loss_input.broadcast import broadcast
from autograd_inspector.rules.ag307_loss_input.with_itself import compared_with_itself

_EXPECTS = {
    "logits for softmax": "logits and applies log-softmax itself",
    "logits for sigmoid": "logits and applies sigmoid itself",
    "log-probabilities": "log-probabilities",
}
_EFFECTS = {
    ("logits for softmax", "distribution"): "the loss applies softmax twice",
    ("logits for sigmoid", "probabilities"): "the loss applies sigmoid twice",
    ("log-probabilities", "distribution"): "the loss is linear in the probabilities, not their log-likelihood",
    ("log-probabilities", "probabilities"): "the loss is linear in the probabilities, not their log-likelihood",
    ("log-probabilities", "scores"): "the loss is linear in the scores and has no lower bound",
}


def check(analysis: Analysis) -> Iterator[Problem]:
    """A loss function gets the wrong kind of input: `cross_entropy(softmax(x), y)`, or shape [N, 1] against [N].

    Why it matters
        The code runs, and the loss falls at first. But probabilities lie between 0 and 1, so the second softmax is nearly
        uniform, the loss has a floor far above zero, and the gradients are small wherever the first softmax saturates.
        With predictions of shape [N, 1] and targets of shape [N], each prediction is compared with every target: the
        model learns the mean of the targets.

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
        torch.nn.KLDivLoss, torch.nn.BCEWithLogitsLoss; "Broadcasting semantics" in the notes of the PyTorch documentation.
    """
    for found in wrong_inputs(analysis):
        yield _wrong(analysis, found)
    for pair in swapped(analysis):
        yield _swapped(analysis, pair)
    yield from broadcast(analysis)
    yield from compared_with_itself(analysis)


def _wrong(analysis: Analysis, found: WrongInput) -> Problem:
    loss, made, expected = found.loss, found.made, found.expected
    return Problem(
        "warning",
        f"{loss.name}() expects {_EXPECTS[expected]}; its input is the result of `{made.name}`, so "
        f"{_EFFECTS[expected, found.given]}",
        _fix(found),
        analysis.places((loss, "passed to the loss function here"), (made, f"`{made.name}` computed here")),
        (made.name, loss.name),
        ops=(loss.index,),
        cures=tuple(as_expected(analysis, found)),
    )


def _fix(found: WrongInput) -> str:
    loss, made = found.loss.name, found.made.name
    if found.expected != "log-probabilities":
        return f"Pass {loss}() the input of `{made}` instead of its output; keep `{made}` for predictions."
    if found.given == "scores":
        take = "Apply log_softmax first"
    elif found.given == "probabilities" and loss == "kl_div":
        take = "Use logsigmoid instead of sigmoid"
    else:
        take = f"Use log_softmax instead of {made}"
    return f"{take}, or use cross_entropy() on the logits." if loss == "nll_loss" else f"{take}."


def _swapped(analysis: Analysis, found: Swapped) -> Problem:
    loss, made = found.loss, found.made
    return Problem(
        "warning",
        f"{loss.name}() gets the target first: its input is a constant, and its target is the result of `{made.name}`, "
        "which requires grad",
        f"Swap the arguments: {loss.name}(input, target) takes the prediction first.",
        analysis.places((loss, "passed to the loss function here"), (made, "prediction computed here")),
        (made.name, loss.name),
        ops=(loss.index,),
        cures=tuple(prediction_first(analysis, found)),
    )
