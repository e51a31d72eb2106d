"""AG204: a target network that is the network itself, and is brought up to date in each round."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected, line_of, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def by_load(target, net):
    target.load_state_dict(net.state_dict())  # Synced.


def by_copy(target, net):
    with torch.no_grad():
        for mine, its in zip(target.parameters(), net.parameters(), strict=True):
            mine.copy_(its)  # Synced.


def by_average(target, net):
    with torch.no_grad():
        for mine, its in zip(target.parameters(), net.parameters(), strict=True):
            mine.mul_(0.99).add_(its, alpha=0.01)


def learn(target_of, sync, rounds=3, made=lambda: nn.Linear(4, 2)):
    net = made()
    target = target_of(net)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(rounds):
        with torch.no_grad():
            goal = 1 + 0.9 * target(X).max(1).values
        optimizer.zero_grad()
        (net(X).max(1).values - goal).pow(2).mean().backward()
        optimizer.step()
        sync(target, net)


@pytest.mark.parametrize("sync", [by_load, by_copy])
def test_target_that_is_the_network_itself(sync):
    """Copied onto itself in each round: told once, with the fix that makes a copy."""
    finding = diagnosed(
        lambda: learn(lambda net: net, sync), "AG204", "# Synced.", "weight", "bias", severity="warning", where=sync
    )
    assert "deepcopy" in finding.fix


@pytest.mark.parametrize("sync", [by_load, by_copy])
def test_target_of_its_own(sync):
    """A copy follows; and a single load of a model's own state may be a check."""
    calm(lambda: learn(copy.deepcopy, sync), lambda: learn(lambda net: net, sync, rounds=1))


@pytest.mark.parametrize("lerp", [False, True])
def test_a_shallow_copy_that_is_averaged(lerp):
    """`copy.copy(model)` has the model's own parameters: their average with themselves shrinks them."""

    def program(copied):
        net = nn.Linear(4, 1)
        shadow = copied(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                for s, p in zip(shadow.parameters(), net.parameters(), strict=True):
                    s.lerp_(p, 0.1) if lerp else s.mul_(0.9).add_(p, alpha=0.1)

    diagnosed(
        lambda: program(copy.copy), "AG204", "s.lerp_(p, 0.1)", "averaged with themselves", "copy.deepcopy(model)",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(copy.deepcopy))


def test_weights_that_decay_by_hand():
    """`p.add_(p, alpha=-rate)` is decoupled weight decay, and no average."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p.add_(p, alpha=-1e-3)
            optimizer.step()

    calm(program)


@pytest.mark.parametrize("sync", [by_load, by_copy, by_average])
def test_a_layer_that_two_models_share(sync):
    """The target has a head of its own and shares the trunk: the line moves the head, and leaves the trunk as it is."""

    def target_of(net):
        target = copy.deepcopy(net)
        target[0] = net[0]
        return target

    calm(lambda: learn(target_of, sync, made=lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))))


def test_one_load_of_its_own_state():
    """A hint, at the line that loads: a check, or a target that was never a copy."""
    report = inspected(lambda: learn(lambda net: net, by_load, rounds=1))
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG204", "info"), summary(report)
    assert finding.locations[0].lineno == line_of(by_load, "# Synced.")


def test_target_network_with_another_name_alone():
    """The line that gives the model its second name comes first, where the program loads the one from the other."""

    class Agent:
        def __init__(self, slow):
            self.net = nn.Linear(4, 1)
            self.slow = slow(self.net)
            self.optimizer = torch.optim.Adam(self.net.parameters())

        def learn(self, x):
            with torch.no_grad():
                value = 0.9 * self.slow(x + 1)
            self.optimizer.zero_grad()
            (self.net(x) - value).pow(2).mean().backward()
            self.optimizer.step()

        def sync(self):
            self.slow.load_state_dict(self.net.state_dict())

    class Alias(Agent):
        def __init__(self):
            super().__init__(copy.deepcopy)
            self.slow = self.net  # Both.

    def program(make):
        agent = make()
        for _ in range(2):
            agent.learn(torch.ones(3, 4))
        agent.sync()

    diagnosed(lambda: program(Alias), "AG204", "# Both.", "onto", severity="warning", where=Alias.__init__)
    calm(lambda: program(lambda: Agent(copy.deepcopy)))


class Shadow:
    def __init__(self, net):
        self.kept = [p.detach() for p in net.parameters()]  # Kept.

    def parameters(self):
        return self.kept

    def __call__(self, x):
        return nn.functional.linear(x, *self.kept)


class ShadowOfCopies(Shadow):
    def __init__(self, net):
        self.kept = [p.detach().clone() for p in net.parameters()]


def test_average_of_tensors_that_were_kept_without_a_copy():
    """The line that kept them is told, and a copy there is the fix; the model needs no second one."""
    finding = diagnosed(
        lambda: learn(Shadow, by_average), "AG204", "# Kept.", "weight", severity="warning", where=Shadow.__init__
    )
    assert "clone()" in finding.fix
    assert "deepcopy" not in finding.fix
    calm(lambda: learn(ShadowOfCopies, by_average))
