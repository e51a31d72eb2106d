"""AG102: a value without a graph that is kept, and takes the place of what parameters learnt by."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Merged(nn.Module):
    """A factorised weight, with a product that is kept for as long as nobody drops it."""

    def __init__(self, *, dropped=False):
        super().__init__()
        self.down, self.up = nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.randn(3, 2))
        self.product, self.dropped = None, dropped

    def forward(self, x):
        if self.training and self.dropped:
            self.product = None
        if self.training and self.product is None:
            return x @ (self.up @ self.down)
        if self.product is None:
            self.product = self.up @ self.down
        return x @ self.product  # Used.


def learned(first, rounds=5, preview_after=1):
    net = nn.Sequential(first, nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for at in range(rounds):
        optimizer.zero_grad()
        net(torch.randn(4, 3)).pow(2).mean().backward()
        optimizer.step()
        if at == preview_after:
            with torch.no_grad():
                net.eval()
                net(torch.randn(4, 3))
                net.train()


def test_product_that_an_evaluation_kept():
    """The parameters behind it learnt until then: told with the line that uses it, and that they do no more."""
    found = diagnosed(
        lambda: learned(Merged()), "AG102", "# Used.", "all later losses use that value", "no gradient any more",
        severity="warning", where=Merged.forward,
    )  # fmt: skip
    assert {name.rpartition(".")[2] for name in found.subjects} == {"up", "down"}
    calm(lambda: learned(Merged(dropped=True)), lambda: learned(nn.Linear(3, 3)))


def test_product_that_a_first_evaluation_kept():
    """The parameters behind it never learn; what a frozen part computed once, for its reader, is another matter."""

    def program(first, evaluated=nn.Module.eval):
        net = nn.Sequential(first, nn.Tanh(), nn.Linear(3, 1))
        with torch.no_grad():
            evaluated(net)(torch.randn(4, 3))
            net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            optimizer.step()

    found = diagnosed(
        lambda: program(Merged()), "AG102", "# Used.", "all later losses use that value", "no gradient from then on",
        severity="warning", where=Merged.forward,
    )  # fmt: skip
    assert {name.rpartition(".")[2] for name in found.subjects} == {"up", "down"}
    assert "kept value computed here" in [place.role for place in found.locations]
    calm(lambda: program(Merged(dropped=True)), lambda: program(Merged(), nn.Module.train))


def test_turns_of_two_losses():
    """A generator whose samples several updates of the critic share learns when its turn comes again."""

    def program():
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*generator.parameters(), *critic.parameters()], lr=0.1)
        for at in range(9):
            optimizer.zero_grad()
            if at % 3 == 0:
                fake = generator(torch.randn(4, 2))
                critic(fake).mean().backward()
            else:
                critic(fake.detach()).pow(2).mean().backward()
            optimizer.step()

    calm(program)
