"""AG307: a loss function that is given another kind of value than it expects, or its target first."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def train(net, loss_of):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(net(X)).backward()
        optimizer.step()


def softmax_twice():
    net = nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))
    train(net, lambda out: nn.CrossEntropyLoss()(out, Y))  # Given.


def sigmoid_twice():
    loss = F.binary_cross_entropy_with_logits
    train(nn.Linear(4, 1), lambda out: loss(torch.sigmoid(out)[:, 0], Y.float()))  # Given.


def log_forgotten():
    train(nn.Linear(4, 2), lambda out: F.nll_loss(F.softmax(out, dim=1), Y))  # Given.


def scores_for_log_probabilities():
    train(nn.Linear(4, 2), lambda out: nn.NLLLoss()(out, Y))  # Given.


def divergence_of_probabilities():
    target = torch.full((8, 2), 0.5)
    train(nn.Linear(4, 2), lambda out: F.kl_div(out.softmax(dim=1), target, reduction="batchmean"))  # Given.


def alignment_of_scores():
    target, long, short = torch.ones(1, 3, dtype=torch.long), torch.tensor([8]), torch.tensor([3])
    train(nn.Linear(4, 2), lambda out: nn.CTCLoss()(out[:, None], target, long, short))  # Given.


def target_first():
    target = F.one_hot(Y, 2).float()
    train(nn.Linear(4, 2), lambda out: F.cross_entropy(target, out))  # Given.


def logits_as_target():
    train(nn.Linear(4, 1), lambda out: F.binary_cross_entropy_with_logits(Y.float(), out[:, 0]))  # Given.


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (softmax_twice, "softmax twice"),
        (sigmoid_twice, "sigmoid twice"),
        (log_forgotten, "log-probabilities"),
        (scores_for_log_probabilities, "no lower bound"),
        (divergence_of_probabilities, "log-probabilities"),
        (alignment_of_scores, "log-probabilities"),
        (target_first, "target first"),
        (logits_as_target, "target first"),
    ],
)
def test_another_kind_of_value(program, words):
    """Told once for a line, with what the function expects."""
    diagnosed(program, "AG307", "Given.", words, severity="warning")


def logits():
    train(nn.Linear(4, 2), lambda out: F.cross_entropy(out, Y))


def log_probabilities():
    train(nn.Linear(4, 2), lambda out: F.nll_loss(out.log_softmax(dim=1), Y) + F.cross_entropy(out.log_softmax(1), Y))


def soft_targets():
    teacher = nn.Linear(4, 2)
    with torch.no_grad():
        target = teacher(X).softmax(dim=1)
    train(nn.Linear(4, 2), lambda out: F.cross_entropy(out, target))


def probabilities():
    train(nn.Linear(4, 1), lambda out: F.binary_cross_entropy(torch.sigmoid(out)[:, 0], Y.float()))


def attention():
    train(nn.Linear(4, 2), lambda out: F.cross_entropy(out * out.softmax(dim=1), Y))


def only_measured():
    def loss_of(out):
        print(F.cross_entropy(out.softmax(dim=1), Y).item())
        return F.cross_entropy(out, Y)

    train(nn.Linear(4, 2), loss_of)


def divergences():
    with torch.no_grad():
        teacher = nn.Linear(4, 2)(X).softmax(1)
    loss = F.kl_div
    train(nn.Linear(4, 2), lambda out: loss(out.log_softmax(1), teacher) + loss(teacher.log(), out.softmax(1)))


def learned_labels():
    labels = nn.Parameter(torch.zeros(8, 2))
    with torch.no_grad():
        out = nn.Linear(4, 2)(X)
    optimizer = torch.optim.SGD([labels], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(out, labels.softmax(dim=1)).backward()
        optimizer.step()


@pytest.mark.parametrize(
    "program",
    [
        logits,
        log_probabilities,
        soft_targets,
        probabilities,
        attention,
        only_measured,
        divergences,
        learned_labels,
    ],
)
def test_inputs_that_fit(program):
    """Logits, log-probabilities, targets, a loss of probabilities, and what backward() never runs through."""
    calm(program)


def test_the_edit_normalises_over_the_classes():
    """In the last dimension, where no index of a class is the target; of sigmoids, by way of their logits."""
    lengths = torch.tensor([6, 6]), torch.tensor([2, 2])

    def ctc():
        net = nn.Linear(4, 3)
        scores = net(X[:6, None].expand(6, 2, 4))
        F.ctc_loss(scores, torch.ones(2, 2, dtype=torch.long), *lengths).backward()

    def sigmoids():
        probabilities = nn.Linear(4, 3)(X).sigmoid()
        F.nll_loss(probabilities, Y).backward()

    for program, written in ((ctc, "scores.log_softmax(-1)"), (sigmoids, "probabilities.logit().log_softmax(1)")):
        (patched,) = inspected(program).patched({"AG307"}).values()
        assert written in patched
