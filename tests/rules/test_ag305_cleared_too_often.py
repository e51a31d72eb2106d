"""AG305: gradients of a backward that are cleared before any step or reader has seen them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair(lr=0.05, kind=torch.optim.SGD):
    net = nn.Linear(4, 1)
    return net, kind(net.parameters(), lr=lr)


@pytest.mark.parametrize("to_none", [True, False])
def test_cleared_in_each_task(*, to_none):
    """Clearing before each of several losses leaves the step the last one: whether to None or with zeros."""

    def program(*, once):
        trunk, heads = nn.Linear(4, 6), nn.ModuleList([nn.Linear(6, 1), nn.Linear(6, 1)])
        optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)
        for _ in range(2):
            if once:
                optimizer.zero_grad(set_to_none=to_none)
            for head in heads:
                if not once:
                    optimizer.zero_grad(set_to_none=to_none)  # Too often.
                loss = F.mse_loss(head(trunk(X)), Y)
                loss.backward()
            optimizer.step()

    finding = diagnosed(
        lambda: program(once=False), "AG305", "Too often", "zero_grad", "trunk.weight", "0.weight",
        severity="warning", where=program,
    )  # fmt: skip
    last, _, none = finding.message.partition(" none ")
    assert "only the last" in last
    assert "trunk.bias, trunk.weight" in last
    assert "0.weight" in none
    assert "trunk" not in none
    calm(lambda: program(once=True))


def test_cleared_between_two_losses():
    """Two losses with a backward line each, the gradients of the first one thrown away before the second."""

    def sick():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            optimizer.zero_grad()  # In between.
            F.l1_loss(net(X), Y).backward()
            optimizer.step()

    finding = diagnosed(sick, "AG305", "In between", "zero_grad", "weight", severity="warning")
    assert line_of(sick, "F.mse_loss(net(X), Y).backward()") in [place.lineno for place in finding.locations]

    def checked_once():
        net, optimizer = pair()
        F.mse_loss(net(X), Y).backward()
        optimizer.zero_grad()
        for _ in range(3):
            optimizer.zero_grad()
            F.l1_loss(net(X), Y).backward()
            optimizer.step()

    def measured():
        net, optimizer = pair()
        norms = []
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            norms.append(net.weight.grad.norm())
            optimizer.zero_grad()
            F.l1_loss(net(X), Y).backward()
            optimizer.step()

    def attacked():
        net, optimizer = pair()
        for _ in range(3):
            shift = torch.zeros_like(X, requires_grad=True)
            F.mse_loss(net(X + shift), Y).backward()
            optimizer.zero_grad()
            F.mse_loss(net(X + 0.1 * shift.grad.sign()), Y).backward()
            optimizer.step()

    def observed():
        net, optimizer = pair()
        seen = []
        net.weight.register_hook(lambda gradient: seen.append(gradient.norm()))
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            optimizer.zero_grad()
            F.l1_loss(net(X), Y).backward()
            optimizer.step()

    calm(checked_once, measured, attacked, observed)


def test_through_another_optimizers_network():
    """Gradients that a loss leaves in another optimizer's parameters are cleared by right, every time."""

    def adversaries(*, to_none):
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        own, other = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(3):
            other.zero_grad(set_to_none=to_none)
            (critic(generator(X)).mean() - critic(X).mean()).backward()
            other.step()
            own.zero_grad(set_to_none=to_none)
            critic(generator(X)).neg().mean().backward()
            own.step()

    calm(lambda: adversaries(to_none=True), lambda: adversaries(to_none=False))


@pytest.mark.parametrize("rounds", [4, 60])
@pytest.mark.parametrize("to_none", [True, False])
def test_rounds_that_end_early(*, to_none, rounds):
    """A round that breaks off after backward loses what it computed by intention, in long runs too."""

    def stopped():
        net, optimizer = pair()
        for _ in range(rounds):
            for epoch in range(3):
                optimizer.zero_grad(set_to_none=to_none)
                F.mse_loss(net(X), Y).backward()
                if epoch == 1:
                    break
                optimizer.step()

    def left_over():
        net, optimizer = pair()
        for _ in range(rounds):
            optimizer.zero_grad(set_to_none=to_none)
            for batch in range(5):
                F.mse_loss(net(X), Y).backward()
                if batch == 3:
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=to_none)

    def skipped():
        net, optimizer = pair()
        for step in range(3 * rounds):
            optimizer.zero_grad(set_to_none=to_none)
            F.mse_loss(net(X), Y).backward()
            if step % 3:
                optimizer.step()

    def each_time():
        net, optimizer = pair()
        for step in range(3 * rounds):
            optimizer.zero_grad(set_to_none=to_none)
            F.mse_loss(net(X), Y).backward()
            if step % 3 == 2:
                optimizer.step()

    for program in (stopped, left_over, skipped):
        report = inspected(program)
        assert not alarms(report), summary(report)
    diagnosed(each_time, "AG305", "optimizer.zero_grad(set_to_none=to_none)", severity="warning")


@pytest.mark.parametrize("rounds", [5, 80])
@pytest.mark.parametrize("to_none", [True, False])
def test_rounds_that_are_skipped(*, to_none, rounds):
    """A line that clears in skipped rounds alone skips them by intention, however many they are."""

    def spikes():
        net, optimizer = pair()
        for step in range(rounds):
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            if step % 2 == 0:
                optimizer.zero_grad(set_to_none=to_none)
                continue
            optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)

    def first_ones():
        net, optimizer = pair()
        for step in range(rounds):
            optimizer.zero_grad(set_to_none=to_none)
            F.mse_loss(net(X), Y).backward()
            if step >= rounds // 2:
                optimizer.step()

    def afterwards():
        net, optimizer = pair()
        for step in range(rounds):
            F.mse_loss(net(X), Y).backward()
            if step % 2:
                optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)  # In each micro-batch.

    for program in (spikes, first_ones):
        report = inspected(program)
        assert not alarms(report), summary(report)
    diagnosed(afterwards, "AG305", "In each micro-batch", severity="warning")


def accumulated(*, every, rest=False, start="zero_grad", epochs=3, batches=5):
    """Steps for several batches at a time."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(epochs):
            if start:
                optimizer.zero_grad()  # At the start.
            for i in range(batches):
                net(torch.randn(8, 4)).pow(2).mean().backward()
                if (i + 1) % every == 0 or (rest and i + 1 == batches):
                    optimizer.step()
                    optimizer.zero_grad()

    return program


def broken_off():
    """A round whose loss is not finite is dropped with what it had accumulated."""
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(9):
        if i in {2, 5}:
            optimizer.zero_grad()
            continue
        net(torch.randn(8, 4)).pow(2).mean().backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()


def test_last_micro_batches_of_an_epoch():
    """They are cleared at the start of the next one, again and again: many live with it, and it is a hint."""
    for epochs in (2, 3):
        (found,) = inspected(accumulated(every=2, epochs=epochs)).findings
        assert (found.rule, found.severity) == ("AG305", "info")
        assert found.locations[0].lineno == line_of(accumulated, "# At the start.")
        assert "one backward() call is left over" in found.message


def test_last_micro_batches_that_count_in_the_next_epoch():
    """Kept until then, they make its first step one of more micro-batches than the others: a hint as well."""
    (found,) = inspected(accumulated(every=2, start="")).findings
    assert (found.rule, found.severity) == ("AG305", "info")
    assert "this step() uses 3" in found.message


def test_no_micro_batches_are_left_over():
    """A rest that is stepped with is in order; so is a round that breaks off."""
    for healthy in (
        accumulated(every=2, rest=True),
        accumulated(every=1),
        accumulated(every=2, batches=6),
        broken_off,
    ):
        assert not inspected(healthy).findings
