"""AG204: a target network that was a copy, and is the trained model itself since it was assigned."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X, NEXT = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(1)).unbind()


class Agent:
    def __init__(self, sync, seen=NEXT):
        self.policy, self.seen, self.sync = nn.Linear(4, 1), seen, sync
        self.target = copy.deepcopy(self.policy)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)

    def learn(self, step):
        with torch.no_grad():
            goal = 0.9 * self.target(self.seen) + 1
        loss = F.mse_loss(self.policy(X), goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if step % 2:
            self.sync(self)


def agreed(sync):
    agent = Agent(sync)
    for step in range(6):
        agent.learn(step)


def assigned(agent):
    agent.target = agent.policy


def loaded(agent):
    agent.target.load_state_dict(agent.policy.state_dict())


def copied(agent):
    agent.target = copy.deepcopy(agent.policy)


def test_a_target_network_that_is_assigned():
    """The line that calls it calls another model from then on, which every step moves: the assignment is named."""
    found = diagnosed(
        lambda: agreed(assigned), "AG204", "agent.target = agent.policy", "self.target", "self.policy",
        severity="warning", where=assigned,
    )  # fmt: skip
    assert "deepcopy" in found.fix


def test_target_networks_that_are_copies():
    """Loaded or copied anew it has parameters of its own."""
    calm(lambda: agreed(loaded), lambda: agreed(copied))


def test_several_models_at_one_line():
    """A line that looks at one model after the other, in each round or once, tells nothing."""

    def compared():
        one, other = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            one(X).pow(2).mean().backward()
            optimizer.step()
            for net in (other, one):
                with torch.no_grad():
                    net(NEXT)

    def evaluated():
        one, other = nn.Linear(4, 1), nn.Linear(4, 1)
        for net in (one, other):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                F.mse_loss(net(X), torch.ones(8, 1)).backward()
                optimizer.step()
                with torch.no_grad():
                    net(NEXT)

    calm(compared, evaluated)
