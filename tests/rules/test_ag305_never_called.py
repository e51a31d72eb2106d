"""AG305: backward() was never called on the loss of a step, although other losses had theirs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def adversaries():
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    return generator, critic, torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("detached", [True, False])
def test_generator_loss_without_backward(*, detached, to_none):
    """The missing backward is to blame, not the detach() of the discriminator's step, nor the clearing before it."""

    def program():
        generator, critic, own, other = adversaries()
        for _ in range(3):
            other.zero_grad(set_to_none=to_none)
            fake = generator(X)
            seen = fake.detach() if detached else fake
            (critic(seen).mean() - critic(X).mean()).backward(retain_graph=True)
            other.step()
            own.zero_grad(set_to_none=to_none)
            g_loss = critic(fake).neg().mean()
            own.step()
            print(end=str(g_loss.clone().detach().item())[:0])

    finding = diagnosed(program, "AG305", "own.step()", "backward()", "generator.weight", severity="warning")
    assert 0 <= finding.fix.find("g_loss.backward()") < finding.fix.find("optimizer.step()")
    assert line_of(program, "g_loss = ") in [place.lineno for place in finding.locations]


def test_generator_loss_behind_a_detach():
    """Where the generator's loss had its backward and is cut off, the detach() is to blame."""

    def program():
        generator, critic, own, other = adversaries()
        for _ in range(3):
            other.zero_grad()
            fake = generator(X)
            (critic(fake.detach()).mean() - critic(X).mean()).backward()
            other.step()
            own.zero_grad()
            spread = fake.std()
            critic(generator(X).detach()).neg().mean().backward()
            own.step()
            print(end=str(spread.item())[:0])

    diagnosed(program, "AG101", "critic(generator(X).detach()).neg()", "generator.weight", severity="warning")


def test_numbers_for_the_log():
    """Losses that are only logged are none that a backward is missing for."""

    def adversarial():
        generator, critic, own, other = adversaries()
        for _ in range(3):
            other.zero_grad()
            fake = generator(X)
            (critic(fake.detach()).mean() - critic(X).mean()).backward()
            other.step()
            own.zero_grad()
            output = critic(fake)
            output.neg().mean().backward()
            mean = output.mean().item()
            own.step()
            print(end=str((mean, critic(generator(X)).mean().item()))[:0])

    def delayed():
        generator, critic, own, other = adversaries()
        for step in range(4):
            other.zero_grad()
            (critic(generator(X).detach()).mean() - critic(X).mean()).backward()
            other.step()
            own.zero_grad()
            loss = critic(generator(X)).neg().mean()
            if step % 2:
                loss.backward()
            own.step()

    def together():
        actor, critic, own, other = adversaries()
        for _ in range(3):
            own.zero_grad()
            other.zero_grad()
            out = actor(X)
            (out.pow(2).mean() + F.mse_loss(critic(X), Y)).backward()
            own.step()
            entropy = out.softmax(1).log().mean()
            other.step()
            print(end=str(entropy.item())[:0])

    calm(adversarial, delayed, together)


def test_backward_long_ago():
    """A loss whose backward ran in steps that are folded away is left out now and then."""

    def program(*, every):
        generator, critic, own, other = adversaries()
        for step in range(40):
            other.zero_grad()
            (critic(generator(X).detach()).mean() - critic(X).mean()).backward()
            other.step()
            own.zero_grad()
            loss = critic(generator(X)).neg().mean()
            if every and step % every == 0:
                loss.backward()
            own.step()

    report = inspected(lambda: program(every=10))
    assert not alarms(report), summary(report)
    diagnosed(lambda: program(every=0), "AG305", "own.step()", "generator.weight", severity="warning", where=program)


def test_closure_without_backward():
    """A closure that computes the loss without backward(), which belongs inside: the closure clears first."""

    def program(*, right):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            if right:
                loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)

    finding = diagnosed(
        lambda: program(right=False), "AG305", "optimizer.step(closure)", "closure", severity="warning", where=program
    )
    assert "loss.backward() inside" in finding.fix
    assert line_of(program, "loss = F.mse_loss") in [place.lineno for place in finding.locations]
    calm(lambda: program(right=True))


def test_losses_that_nobody_backpropagates():
    """A loop that computes one loss after the other with an optimizer at hand gets a hint, and no alarm."""

    def program(*, graph=True, count=3):
        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # at hand
        with torch.set_grad_enabled(graph):
            for _ in range(count):
                net(torch.ones(3, 4)).pow(2).mean().item()
        return optimizer

    report = inspected(program)
    assert [(f.rule, f.severity) for f in report.findings] == [("AG305", "info")], summary(report)
    (finding,) = report.findings
    assert "3 losses" in finding.message
    assert line_of(program, "# at hand") in [place.lineno for place in finding.locations]
    for looking in (lambda: program(graph=False), lambda: program(count=1)):
        report = inspected(looking)
        assert not report.findings, summary(report)


def test_a_printed_mean_is_not_the_loss_that_waits():
    """Neither a mean of the predictions, nor that of the loss, that is printed; the loss itself is named."""

    def program(look):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            prediction = net(X)
            first = prediction if look == "before" else None
            print(end=str(first.mean().item())[:0] if first is not None else "")
            objective = F.mse_loss(prediction, Y)
            print(end=str(objective.mean().item())[:0] if look == "loss" else "")
            print(end=str(prediction.mean().item())[:0] if look == "after" else "")
            optimizer.step()

    for look in ("no", "before", "loss", "after"):
        finding = diagnosed(
            lambda look=look: program(look), "AG305", "optimizer.step()", "weight", severity="warning", where=program
        )
        assert line_of(program, "objective = ") in [place.lineno for place in finding.locations], look
