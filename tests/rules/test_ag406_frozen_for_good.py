"""AG406: an optimizer steps on after all that it holds was frozen; an adapter that was frozen at zero (AG106)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import alarms, diagnosed, inspected, line_of
from .twins import calm


def adversaries(*, thaw):
    """Three rounds; the discriminator is frozen for the generator's turn."""
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g, opt_d = (torch.optim.SGD(net.parameters(), 0.1) for net in (generator, discriminator))
    for _ in range(3):
        if thaw:
            discriminator.requires_grad_(True)
        fake = generator(torch.randn(8, 2))
        d_loss = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-discriminator(torch.randn(8, 3))).mean()
        opt_d.zero_grad()
        if d_loss.requires_grad:
            d_loss.backward()
        opt_d.step()
        discriminator.requires_grad_(False)
        opt_g.zero_grad()
        F.softplus(-discriminator(fake)).mean().backward()
        opt_g.step()


def test_a_discriminator_that_stays_frozen():
    """Where it was frozen is pointed at."""
    diagnosed(
        lambda: adversaries(thaw=False),
        "AG406",
        "discriminator.requires_grad_(False)",
        "weight",
        "opt_d",
        severity="warning",
        where=adversaries,
    )


def penalised(read=lambda x: None, *, thaw=False):
    """The samples require grad, for a penalty, so that backward() goes through though the discriminator is frozen."""
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    opt_g, opt_d = (torch.optim.SGD(net.parameters(), 0.1) for net in (generator, discriminator))
    for step in range(4):
        discriminator.requires_grad_(thaw or step == 0)
        real = torch.randn(8, 3, requires_grad=True)
        fake = generator(torch.randn(8, 2))
        score = discriminator(real)
        d_loss = F.softplus(discriminator(fake.detach())).mean() + F.softplus(-score).mean()
        if step % 2:
            (slope,) = torch.autograd.grad(score.sum(), real, create_graph=True)
            d_loss = d_loss + slope.pow(2).mean()
        opt_d.zero_grad()
        d_loss.backward()
        read(real)
        opt_d.step()
        opt_g.zero_grad()
        F.softplus(-discriminator(fake)).mean().backward()
        opt_g.step()


def test_a_discriminator_whose_loss_is_differentiated_for_its_samples():
    """Gradients that nobody reads train nothing; those that the program reads may be what the loss is for."""
    diagnosed(
        penalised, "AG406", "discriminator.requires_grad_(", "weight", "the last 3 steps of",
        severity="warning", where=penalised,
    )  # fmt: skip
    calm(lambda: penalised(thaw=True), lambda: penalised(lambda x: x.grad.sign()))


def test_thawed_again_or_partly_frozen():
    """Unfrozen for its own turn; layers frozen one after the other while the same optimizer trains the rest."""

    def gradual():
        net = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(4):
            if step == 1:
                net[0].requires_grad_(False)
            optimizer.zero_grad()
            net(torch.randn(8, 2)).pow(2).mean().backward()
            optimizer.step()

    calm(lambda: adversaries(thaw=True), gradual)


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4)
        self.down = nn.Parameter(torch.randn(2, 4))
        self.up = nn.Parameter(torch.zeros(4, 2))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


def tuned(words, *, held_too=False):
    """Only parameters whose names contain one of the words learn; the optimizer may hold the others as well."""
    net = nn.Sequential(Adapted(), nn.Linear(4, 1))
    for name, p in net.named_parameters():
        p.requires_grad = any(word in name for word in words)
    optimizer = torch.optim.SGD([p for p in net.parameters() if held_too or p.requires_grad], 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()


def test_an_adapter_that_is_frozen_at_zero():
    """A hint, and a warning where the optimizer was given it; one that learns, and a frozen bias, are not named."""
    report = inspected(lambda: tuned(("lora_", "1.")))
    (hint,) = [finding for finding in report.findings if finding.rule == "AG106"]
    assert hint.severity == "info"
    assert not alarms(report)
    assert "0.up" in hint.message
    assert "0.down" not in hint.message
    assert hint.locations[0].lineno == line_of(tuned, "p.requires_grad =")
    diagnosed(
        lambda: tuned(("lora_", "1."), held_too=True), "AG106", "p.requires_grad =", "0.up", "although SGD holds it",
        severity="warning", where=tuned,
    )  # fmt: skip
    report = inspected(lambda: tuned(("up", "down", "1."), held_too=True))
    assert not [finding for finding in report.findings if finding.rule == "AG106"]


def test_a_phase_that_is_over():
    """What a frozen part computes goes into the losses of others: a held backbone, a member that stopped early."""

    def held_backbone():
        backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (backbone, head)]
        for step in range(5):
            if step == 2:
                backbone.requires_grad_(False)
            for optimizer in optimizers:
                optimizer.zero_grad()
            head(torch.tanh(backbone(torch.randn(8, 3)))).pow(2).mean().backward()
            for optimizer in optimizers:
                optimizer.step()

    def stopped_member():
        members = [nn.Linear(3, 1) for _ in range(3)]
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in members]
        for step in range(5):
            if step == 2:
                members[0].requires_grad_(False)
            for optimizer in optimizers:
                optimizer.zero_grad()
            x = torch.randn(8, 3)
            torch.stack([net(x) for net in members]).pow(2).mean().backward()
            for optimizer in optimizers:
                optimizer.step()

    def validated():
        backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (backbone, head)]
        for step in range(5):
            backbone.train()
            if step == 2:
                backbone.requires_grad_(False)
            for optimizer in optimizers:
                optimizer.zero_grad()
            head(torch.tanh(backbone(torch.randn(8, 3)))).pow(2).mean().backward()
            for optimizer in optimizers:
                optimizer.step()
            backbone.eval()
            backbone(torch.randn(8, 3)).norm().item()

    calm(held_backbone, stopped_member, validated)
