"""AG413: options that are written where no step reads them."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def warmed_up(write, kind=torch.optim.SGD):
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters(), lr=1.0)
    for step in range(3):
        write(optimizer, 0.1 * (step + 1))
        trained(optimizer, net(X).pow(2).mean())


def test_rate_that_no_group_reads():
    """The line that writes it is told where the function that steps has it."""

    def program(attribute=False):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=1.0)
        for step in range(3):
            if attribute:
                optimizer.lr = 0.1 * (step + 1)
            else:
                optimizer.defaults["lr"] = 0.1 * (step + 1)
            net(X).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    diagnosed(program, "AG413", 'optimizer.defaults["lr"]', "lr", "Adam", severity="warning")
    diagnosed(
        lambda: program(attribute=True), "AG413", "optimizer.lr =", "lr", "Adam", severity="warning", where=program
    )


def decayed(optimizer, rate):
    optimizer.defaults["weight_decay"] = rate  # decayed


def test_option_that_a_function_writes_which_has_returned():
    """Where no running function writes it, the only line of the file that does is told."""
    diagnosed(lambda: warmed_up(decayed), "AG413", "# decayed", "weight_decay", severity="warning", where=decayed)


def test_rates_that_reach_the_groups():
    """Written to the groups as well, or read by a class of the program's own, it has an effect."""

    def everywhere(optimizer, rate):
        optimizer.defaults["lr"] = optimizer.param_groups[0]["lr"] = rate

    class Own(torch.optim.SGD):
        def step(self, closure=None):
            for group in self.param_groups:
                group["lr"] = self.lr
            return super().step(closure)

    def its_own(optimizer, rate):
        optimizer.lr = rate

    calm(
        lambda: warmed_up(everywhere), lambda: warmed_up(its_own, Own), lambda: warmed_up(lambda optimizer, rate: None)
    )
