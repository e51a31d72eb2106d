"""AG406: frozen parameters that move, and moving ones that were to be frozen."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of, trained
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

    finding = diagnosed(sick, "AG406", "p.requires_grad = False", "0.weight", severity="warning")
    assert "set_to_none=False" in finding.message
    assert "momentum and weight decay" in finding.message
    assert line_of(sick, "optimizer.zero_grad(set_to_none=False)") in [place.lineno for place in finding.locations]
    calm(healthy)


def test_clipping_makes_no_gradient():
    """A gradient of zeros, or an old one, is scaled with the others before the step: that is what it was before."""

    def program(*, to_none):
        net = network()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        trained(optimizer, loss_of(net))
        net[0].requires_grad_(False)
        for _ in range(2):
            if to_none:
                net[2].zero_grad()
            else:
                optimizer.zero_grad(set_to_none=False)
            loss_of(net).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            optimizer.step()

    culprit = "net[0].requires_grad_(False)"
    finding = diagnosed(lambda: program(to_none=False), "AG406", culprit, severity="warning", where=program)
    assert "holds zeros" in finding.message
    finding = diagnosed(lambda: program(to_none=True), "AG406", culprit, severity="warning", where=program)
    assert "applies it again" in finding.message


def test_frozen_with_an_old_gradient():
    """Plain SGD applies the stale gradient itself; of momentum and weight decay it has none."""

    def program(**settings):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, **settings)
        trained(optimizer, loss_of(net))
        net[0].requires_grad_(False)
        for _ in range(2):
            net[2].zero_grad()
            loss_of(net).backward()
            optimizer.step()

    culprit = "net[0].requires_grad_(False)"
    finding = diagnosed(program, "AG406", culprit, "0.weight", severity="warning")
    assert "applies it again" in finding.message
    assert "momentum" not in finding.message
    assert "decay" not in finding.message
    finding = diagnosed(lambda: program(momentum=0.9), "AG406", culprit, severity="warning", where=program)
    assert "momentum" in finding.message
    assert "decay" not in finding.message


def test_zeros_that_move_nothing():
    """Plain SGD, and a rate of zero, leave alone what has a gradient of zeros."""

    def program(kind, **settings):
        net = network()
        optimizer = kind(net.parameters(), **settings)
        trained(optimizer, loss_of(net))
        net[0].requires_grad_(False)
        before = net[0].weight.detach().clone()
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            loss_of(net).backward()
            optimizer.step()
        assert torch.equal(before, net[0].weight)

    calm(lambda: program(torch.optim.SGD, lr=0.1), lambda: program(torch.optim.RMSprop, lr=0.1))


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


def test_frozen_under_both_names():
    """A loop over all of a model that freezes its embedding froze it under the name that a wrapper has for it, too."""

    class Prompted(nn.Module):
        def __init__(self):
            super().__init__()
            base = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 5))
            for name, parameter in base.named_parameters():
                parameter.requires_grad = name.startswith("2")
            self.words, self.base = base[0], base

        def forward(self, i):
            return self.base(i)

    def program():
        net = Prompted()
        optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(torch.arange(5)), torch.arange(5)))

    calm(program)


def test_several_frozen_with_their_twins():
    """A module that two models share is frozen under one of its names: one finding names all of it."""

    class Branch(nn.Module):
        def __init__(self, encoder):
            super().__init__()
            self.encoder, self.head = encoder, nn.Linear(4, 1)

        def forward(self, x):
            return self.head(self.encoder(x).tanh())

    def program():
        base = Branch(nn.Linear(4, 4))
        control = Branch(base.encoder)
        base.requires_grad_(False)
        optimizer = torch.optim.Adam(control.parameters())
        for _ in range(2):
            trained(optimizer, (control(torch.ones(3, 4)) + base(torch.ones(3, 4))).mean())

    finding = diagnosed(
        program, "AG406", "base.requires_grad_(False)", "control.encoder.weight", "control.encoder.bias",
        severity="warning", where=program,
    )  # fmt: skip
    roles = {place.source.strip(): place.role for place in finding.locations}
    assert roles["self.encoder, self.head = encoder, nn.Linear(4, 1)"] == "shared here"
    assert "control = Branch(base.encoder)" in roles


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


def test_thawed_by_a_subclass():
    """A base class freezes its head by default; the class that inherits from it means to train it."""

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
            self.head.requires_grad_(False)

        def forward(self, x):
            return self.head(self.body(x))

    class Whole(Base):
        def __init__(self):
            super().__init__()
            self.head.requires_grad_(True)

    def program(kind):
        net = kind()
        trained(torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1), loss_of(net))

    calm(lambda: program(Whole))
    calm(lambda: program(Base))


def test_head_frozen_under_its_other_name():
    """The optimizer gets the head, whose weight is the embedding's: it was frozen with the body."""

    class Tagger(nn.Module):
        def __init__(self, tied):
            super().__init__()
            self.body, self.head = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 4, bias=False)
            if tied:
                self.head.weight = self.body[0].weight

        def forward(self, x):
            return self.head(self.body(x).tanh())

    def program(tied):
        net = Tagger(tied)
        for p in net.body[0].parameters():
            p.requires_grad = False  # Frozen.
        optimizer = torch.optim.Adam(
            [{"params": net.body[1].parameters()}, {"params": net.head.parameters(), "lr": 0.1}]
        )
        for _ in range(2):
            trained(optimizer, loss_of(net))

    diagnosed(
        lambda: program(tied=True),
        "AG406",
        "# Frozen.",
        "body.0.weight",
        "head.weight",
        severity="warning",
        where=program,
    )
    calm(lambda: program(tied=False))
