"""AG502: what counts as a step, and how what is kept is called and mended."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, said, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def minimised(rounds, keep, *, within=False):
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(net(X), Y)
        loss.backward()
        if within:
            keep(loss)
        return loss

    for _ in range(rounds):
        loss = optimizer.step(closure)
        if not within:
            keep(loss)
    return loss


def test_closure_called_several_times_is_one_step():
    """LBFGS holds the first loss of a step, a variable the one that the step before returned: that is no leak."""
    calm(*(lambda rounds=rounds: minimised(rounds, lambda loss: None) for rounds in (2, 4)))


def test_losses_of_closures_that_are_kept():
    """A list of what LBFGS returns, or of what its closure computes, keeps one graph a step at least."""
    for within in (False, True):
        kept = []
        found = alarms(inspected(lambda kept=kept, within=within: minimised(4, kept.append, within=within)))
        assert [finding.rule for finding in found] == ["AG502"]
        calm(lambda within=within: minimised(4, lambda loss: [].append(loss.item()), within=within))


class Monitored(nn.Module):
    """Keeps a running mean of its activations, and has a loss of its own to give."""

    def __init__(self, cut):
        super().__init__()
        self.linear, self.cut = nn.Linear(4, 4), cut
        self.register_buffer("running", torch.zeros(4))

    def forward(self, x):
        h = self.linear(x)
        self.running = 0.9 * self.running + 0.1 * self.cut(h).mean(0)
        return h


def monitored(cut):
    net = nn.Sequential(Monitored(cut), Monitored(cut), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        trained(optimizer, net(X).pow(2).mean())


def test_running_mean_of_two_layers():
    """Each layer has a chain of its own, as long as there were steps; a vector is no number."""
    finding = diagnosed(
        lambda: monitored(lambda h: h), "AG502", "self.running = 0.9", "self.running of '0', '1'", "4 steps",
        severity="warning", where=Monitored.forward,
    )  # fmt: skip
    assert "item()" not in finding.fix
    assert "detach()" in finding.fix
    calm(lambda: monitored(torch.Tensor.detach))


def test_predictions_that_are_kept():
    """A matrix without a name is called by its op, and its copy has no `.item()`."""

    def program(cut):
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        collected = []
        for _ in range(5):
            logits = net(X)
            trained(optimizer, logits.pow(2).mean())
            collected.append(cut(logits.softmax(-1)))
        return torch.cat(collected)

    finding = diagnosed(lambda: program(lambda t: t), "AG502", "collected.append", "softmax", "or more steps",
                        severity="warning", where=program)  # fmt: skip
    assert "item()" not in finding.fix
    assert "float32[" not in said(finding)
    calm(lambda: program(torch.Tensor.detach))
