"""AG307: a loss function that is given probabilities where it expects logits."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
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


@pytest.mark.parametrize(
    ("program", "words"),
    [(softmax_twice, "softmax twice"), (sigmoid_twice, "sigmoid twice"), (log_forgotten, "log-probabilities")],
)
def test_probabilities_for_logits(program, words):
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


@pytest.mark.parametrize("program", [logits, log_probabilities, soft_targets, probabilities, attention, only_measured])
def test_inputs_that_fit(program):
    """Logits, log-probabilities, targets, a loss of probabilities, and what backward() never runs through."""
    calm(program)
