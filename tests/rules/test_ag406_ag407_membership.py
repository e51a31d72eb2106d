"""AG406 and AG407: frozen parameters that move, and parameters that are stepped twice."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def loss_of(net):
    return F.cross_entropy(net(X), Y)


def test_frozen_with_a_gradient_left():
    """Freezing after a backward leaves a gradient, which momentum and weight decay go on using."""

    def sick():
        net = network()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)
        trained(optimizer, loss_of(net))
        for p in net[0].parameters():
            p.requires_grad = False
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            loss_of(net).backward()
            optimizer.step()

    def healthy():
        net = network()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)
        trained(optimizer, loss_of(net))
        for p in net[0].parameters():
            p.requires_grad = False
        for _ in range(2):
            trained(optimizer, loss_of(net))

    diagnosed(sick, "AG406", "p.requires_grad = False", "0.weight", severity="warning")
    calm(healthy)


def test_frozen_parameters_listed_in_the_optimizer():
    """Frozen parameters that never had a gradient rest in an optimizer without harm."""

    def program():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    calm(program)


def test_freezing_that_means_nothing():
    """`module.requires_grad = False` and `param.require_grad = False` freeze nothing: the backbone goes on moving."""

    def by_module():
        net = network()
        net[0].requires_grad = False
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def by_typo():
        net = network()
        for p in net[0].parameters():
            p.require_grad = False
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def healthy():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    diagnosed(by_module, "AG406", "net[0].requires_grad = False", "0.weight", severity="warning")
    diagnosed(by_typo, "AG406", "p.require_grad = False", "0.weight", "require_grad", severity="warning")
    calm(healthy)


def test_frozen_and_unfrozen_again():
    """`train()`-like helpers that set requires_grad on everything undo the freezing."""

    def program(prepare):
        net = network()
        for p in net[0].parameters():
            p.requires_grad_(False)
        prepare(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def all_on(net):
        for p in net.parameters():
            p.requires_grad_(True)

    def probe():
        net = network().requires_grad_(False)
        net[2].requires_grad_(True)
        optimizer = torch.optim.SGD(net[2].parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def all_in_the_optimizer():
        net = network().requires_grad_(False)
        net[2].requires_grad_(True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    calm(probe, all_in_the_optimizer)
    diagnosed(lambda: program(all_on), "AG406", "p.requires_grad_(True)", "0.weight", severity="warning", where=all_on)
    calm(lambda: program(nn.Module.train))


def test_frozen_with_its_twin():
    """Freezing the embedding freezes the tied output matrix."""

    class Tied(nn.Module):
        def __init__(self, tie):
            super().__init__()
            self.embed = nn.Embedding(5, 4)
            self.decoder = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 5))
            if tie:
                self.decoder[1].weight = self.embed.weight

        def forward(self, i):
            return self.decoder(self.embed(i))

    def program(*, tie):
        net = Tied(tie)
        net.embed.requires_grad_(False)
        optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(torch.arange(5)), torch.arange(5)))

    diagnosed(
        lambda: program(tie=True), "AG406", "net.embed.requires_grad_(False)", "decoder.1.weight", "embed.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(tie=False))


def test_alternately_frozen():
    """GANs freeze the critic for the generator's step and thaw it again."""

    def program():
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        left, right = torch.optim.SGD(generator.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(2):
            critic.requires_grad_(True)
            trained(right, critic(generator(X).detach()).mean() - critic(X).mean())
            critic.requires_grad_(False)
            trained(left, -critic(generator(X)).mean())

    calm(program)


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
