"""AG407: parameters that are stepped twice."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def loss_of(net):
    return F.cross_entropy(net(X), Y)


def test_twice_in_one_group():
    """Chained parameter lists that overlap hold a parameter twice."""

    def program(gather):
        net = network()
        optimizer = torch.optim.SGD(gather(net), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def overlapping(net):
        return list(itertools.chain(net.parameters(), net[2].parameters()))

    diagnosed(
        lambda: program(overlapping), "AG407", "torch.optim.SGD(gather(net)", "2.weight", "duplicate",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(lambda net: net.parameters()))


def test_twice_and_frozen():
    """What has no gradient is not stepped: listed twice it is worth a note, and no alarm."""

    def program():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD([*net.parameters(), net[0].weight], lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    report = inspected(program)
    (twice,) = [finding for finding in report.findings if finding.rule == "AG407"]
    assert (twice.severity, alarms(report)) == ("info", [])
    assert "listed twice but not stepped here" in twice.message


def test_in_two_groups():
    """torch refuses a parameter in two groups; the finding names it."""

    def sick():
        net = network()
        torch.optim.SGD([{"params": net.parameters()}, {"params": net[2].parameters(), "lr": 1.0}], lr=0.1)

    def healthy():
        net = network()
        optimizer = torch.optim.SGD(
            [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 1.0}], lr=0.1
        )
        trained(optimizer, loss_of(net))

    diagnosed(sick, "AG407", "torch.optim.SGD([{", "2.weight", severity="error")
    calm(healthy)


def test_added_twice():
    """add_param_group of parameters that are there already raises."""

    def sick():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net[0].requires_grad_(True)
        optimizer.add_param_group({"params": net[0].parameters()})

    diagnosed(sick, "AG407", "optimizer.add_param_group", "0.weight", severity="error")


def test_two_optimizers():
    """A shared encoder in two optimizers that both step is stepped twice; training in phases is not."""

    def sick():
        encoder, left, right = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)
        one = torch.optim.Adam([*encoder.parameters(), *left.parameters()])
        two = torch.optim.Adam([*encoder.parameters(), *right.parameters()])
        for _ in range(2):
            one.zero_grad()
            two.zero_grad()
            h = encoder(X)
            (F.cross_entropy(left(h), Y) + F.cross_entropy(right(h), Y)).backward()
            one.step()
            two.step()

    def phases():
        net = network()
        first = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(first, loss_of(net))
        second = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(2):
            trained(second, loss_of(net))

    diagnosed(sick, "AG407", "one = torch.optim.Adam", "encoder.weight", "duplicate", severity="warning")
    calm(phases)


def test_two_losses_with_an_optimizer_each():
    """An encoder that reconstructs with one optimizer and fools a critic with another has a gradient for each."""

    def program():
        encoder, decoder, critic = nn.Linear(4, 2), nn.Linear(2, 4), nn.Linear(2, 1)
        rebuild = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        judge, fool = torch.optim.Adam(critic.parameters()), torch.optim.Adam(encoder.parameters())
        for _ in range(2):
            trained(rebuild, F.mse_loss(decoder(encoder(X)), X))
            trained(judge, critic(encoder(X).detach()).mean() - critic(torch.ones(8, 2)).mean())
            trained(fool, -critic(encoder(X)).mean())

    calm(program)
