"""AG101 and AG102 where leaves are written through aliases, and the advice for copies that several losses read."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, quoted, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def learning_pair():
    body, head = nn.Linear(4, 4), nn.Linear(4, 2)
    return body, head, torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)


def test_values_that_an_alias_is_written_from():
    """A weight scaled by its own norm through `.data` keeps its gradient: what the loss cuts off is to blame."""

    def normalised():
        body, head, optimizer = learning_pair()
        for _ in range(2):
            weight = body.weight.data
            weight.div_(weight.norm())
            hidden = F.relu(body(X)).detach()  # The cut.
            trained(optimizer, F.cross_entropy(head(hidden), Y))

    def all_at_once():
        body, head, optimizer = learning_pair()
        torch._foreach_mul_([p.data for p in body.parameters()], 0.5)
        for _ in range(2):
            hidden = F.relu(body(X)).detach()  # The cut.
            trained(optimizer, F.cross_entropy(head(hidden), Y))

    for program in (normalised, all_at_once):
        diagnosed(program, "AG101", "The cut", "body.weight", "body.bias", severity="warning")


def test_aliases_written_before_a_block_without_grad():
    """Where backward fails for a block of no_grad, no line that initialises weights is to blame."""

    def scaled():
        net = nn.Linear(4, 2)
        for parameter in net.parameters():
            values = parameter.data
            values.mul_(0.1 / values.abs().max())
        with torch.no_grad():
            loss = F.cross_entropy(net(X), Y)
        loss.backward()

    def all_at_once():
        net = nn.Linear(4, 2)
        torch._foreach_mul_([p.data for p in net.parameters()], 0.5)
        with torch.no_grad():
            loss = F.cross_entropy(net(X), Y)
        loss.backward()

    for program in (scaled, all_at_once):
        diagnosed(program, "AG102", "with torch.no_grad():", "net.weight", "net.bias", severity="error")


def test_values_of_another_leaf():
    """What is written into a weight through `.data` keeps the gradient from the leaf that it is computed from."""

    def program():
        scale, net = nn.Parameter(torch.ones(())), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([scale, *net.parameters()], lr=0.1)
        for _ in range(2):
            net.weight.data.mul_(scale)  # The cut.
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(program, "AG101", "The cut", "scale", severity="warning")


def test_an_alias_that_is_written_and_read():
    """Each forward reads the parameter through its own alias: the parameter itself is to be read, out of place."""

    class Halved(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.head = nn.Parameter(torch.randn(4, 4)), nn.Linear(4, 2)

        def forward(self, x):
            return self.head(x @ self.w.data.mul_(0.5).t())

    class Clamped(Halved):
        def forward(self, x):
            w = self.w.detach()
            w.clamp_(-1, 1)
            return self.head(F.linear(x, w.view(4, 4)))

    def program(kind):
        net = kind()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    for kind, culprit, edit in ((Halved, "self.w.data", "mul_"), (Clamped, "self.w.detach()", "clamp_")):
        found = diagnosed(lambda kind=kind: program(kind), "AG101", culprit, severity="warning", where=kind.forward)
        assert "the tensor itself" in found.fix
        assert edit in quoted(found.fix)


def test_detached_where_another_loss_needs_the_graph():
    """A generator's result that is detached where it is made is right for the discriminator's loss alone."""

    def adversaries(*, early):
        made, judge = nn.Linear(4, 4), nn.Linear(4, 1)
        own, other = torch.optim.Adam(made.parameters()), torch.optim.Adam(judge.parameters())
        for _ in range(2):
            fake = made(X).detach() if early else made(X)
            trained(other, judge(fake.detach()).mean() - judge(X).mean())
            trained(own, judge(fake).neg().mean())

    found = diagnosed(
        lambda: adversaries(early=True), "AG101", "made(X).detach()", "made.weight", severity="warning",
        where=adversaries,
    )  # fmt: skip
    assert quoted(found.fix)[-1] == "fake.detach()"
    assert "only in the loss" in found.fix
    assert "judge.weight, judge.bias" in found.fix
