"""AG204: a recurrent policy whose update starts from the state that the rollout left behind."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributions import Categorical

from .programs import diagnosed
from .twins import calm


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.cell, self.act = nn.Linear(3, 4), nn.GRUCell(4, 4), nn.Linear(4, 2)

    def forward(self, seen, state):
        state = self.cell(self.encode(seen).tanh(), state)
        return Categorical(logits=self.act(state)), state


def into(state, new):
    state.copy_(new)  # Written.
    return state


def anew(state, new):
    return new


def trained(keep, renew, *, rounds=2, steps=3):
    """Rollouts of a policy, and an update after each that computes them again."""
    agent = Agent()
    optimizer = torch.optim.SGD(agent.parameters(), lr=0.1)
    state = torch.zeros(2, 4)
    for _ in range(rounds):
        initial, rollout = keep(state), []
        for _ in range(steps):
            seen = torch.randn(2, 3)
            with torch.no_grad():
                chances, new = agent(seen, state)
                action = chances.sample()
            state = renew(state, new)
            rollout.append((seen, action, torch.randn(2)))
        optimizer.zero_grad()
        replayed = initial
        for seen, action, gain in rollout:
            chances, replayed = agent(seen, replayed)
            (-(chances.log_prob(action) * gain).mean()).backward(retain_graph=True)
        optimizer.step()


def test_initial_state_that_the_rollout_overwrites():
    """The line that writes each state into the first one; a copy of that, or a new tensor for each, is right."""
    found = diagnosed(
        lambda: trained(lambda state: state, into), "AG204", "# Written.", "state", "computes a sample again",
        severity="warning", where=into,
    )  # fmt: skip
    assert ".clone()" in found.fix
    calm(lambda: trained(torch.clone, into), lambda: trained(lambda state: state, anew))


def test_states_that_go_on_by_intention():
    """Training that carries its state over, a fixed point of one sample, and a state that is warmed up by others."""

    def optimized(agent):
        return torch.optim.SGD(agent.parameters(), lr=0.1)

    def learned(agent, optimizer, seen, state):
        optimizer.zero_grad()
        chances, new = agent(seen, state)
        chances.entropy().mean().backward()
        optimizer.step()
        return new.detach()

    def carried():
        agent, state = Agent(), torch.zeros(2, 4)
        optimizer = optimized(agent)
        for _ in range(4):
            state.copy_(learned(agent, optimizer, torch.randn(2, 3), state.clone()))

    def fixed_point():
        agent = Agent()
        optimizer = optimized(agent)
        for _ in range(3):
            seen, state = torch.randn(2, 3), torch.zeros(2, 4)
            with torch.no_grad():
                for _ in range(4):
                    state.copy_(agent(seen, state)[1])
            learned(agent, optimizer, seen, state)

    def warmed_up():
        agent, state = Agent(), torch.zeros(2, 4)
        optimizer = optimized(agent)
        for _ in range(3):
            with torch.no_grad():
                for _ in range(3):
                    state.copy_(agent(torch.randn(2, 3), state)[1])
            learned(agent, optimizer, torch.randn(2, 3), state)

    calm(carried, fixed_point, warmed_up)
