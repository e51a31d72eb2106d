"""Dreamer: the actor learns by gradients through a frozen world model and a slow critic; start states and lambda-returns are detached where due."""

import copy
import torch
from torch import nn
from tests.practice.truth import Truth

H, GAMMA, LAMBDA = 4, 0.95, 0.9


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans, self.reward = nn.Linear(5, 3), nn.Linear(3, 1)

    def imagine(self, s, a):
        s = torch.tanh(self.trans(torch.cat([s, a], -1)))
        return s, self.reward(s).squeeze(-1)


class frozen:
    def __init__(self, *modules):
        self.params = [p for m in modules for p in m.parameters()]

    def __enter__(self):
        self.flags = [p.requires_grad for p in self.params]
        for p in self.params:
            p.requires_grad = False

    def __exit__(self, *_):
        for p, f in zip(self.params, self.flags):
            p.requires_grad = f


def lambda_returns(rewards, values):
    out, last = [], values[-1]
    for r, v in zip(reversed(rewards), reversed(values[1:])):
        last = r + GAMMA * ((1 - LAMBDA) * v + LAMBDA * last)
        out.append(last)
    return torch.stack(out[::-1])


def rollout(world, actor, critic, s):
    states, rewards = [s], []
    for _ in range(H):
        s, r = world.imagine(s, torch.tanh(actor(s)))
        states.append(s)
        rewards.append(r)
    return states, lambda_returns(rewards, [critic(x).squeeze(-1) for x in states])


def run():
    torch.manual_seed(0)
    world, actor, critic = World().double(), nn.Linear(3, 2).double(), nn.Linear(3, 1).double()
    slow = copy.deepcopy(critic).requires_grad_(False)
    opts = {
        n: torch.optim.Adam(m.parameters(), lr=1e-2)
        for n, m in (("world", world), ("actor", actor), ("critic", critic))
    }
    start = copy.deepcopy([world, actor, critic])
    log = []
    for _ in range(3):
        s, a, target = torch.randn(6, 3).double(), torch.randn(6, 2).double(), torch.randn(6, 3).double()
        nxt, reward = world.imagine(s, a)
        opts["world"].zero_grad()
        ((nxt - target).square().mean() + (reward - s.sum(1)).square().mean()).backward()
        opts["world"].step()
        with frozen(world):
            states, returns = rollout(world, actor, slow, nxt.detach())
            opts["actor"].zero_grad()
            (-returns.mean()).backward()
        untouched = [p.grad.clone() for p in world.parameters()]
        log.append(
            (copy.deepcopy([world, actor, slow]), nxt.detach(), [p.grad.clone() for p in actor.parameters()], untouched)
        )
        opts["actor"].step()
        opts["critic"].zero_grad()
        value = torch.stack([critic(x.detach()).squeeze(-1) for x in states[:-1]])
        (value - returns.detach()).square().mean().backward()
        opts["critic"].step()
        with torch.no_grad():
            torch._foreach_lerp_(list(slow.parameters()), list(critic.parameters()), 0.3)
    return start, [world, actor, critic], log


def verify(outcome):
    start, end, log = outcome
    for (world, actor, slow), s0, grads, _ in log:
        params = list(actor.parameters())
        live = copy.deepcopy(world).requires_grad_(True)
        s, total, weight = s0, 0, 1.0
        values, rewards = [], []
        for t in range(H):
            s, r = live.imagine(s, torch.tanh(actor(s)))
            rewards.append(r)
            values.append(slow(s).squeeze(-1))
        last = values[-1]
        every = []
        for r, v in zip(rewards[::-1], values[::-1]):
            last = r + GAMMA * ((1 - LAMBDA) * v + LAMBDA * last)
            every.append(last)
        for a, b in zip(torch.autograd.grad(-torch.stack(every).mean(), params), grads):
            assert torch.allclose(a, b, atol=1e-10) and b.any()
    for a, b in zip(start, end):
        assert all(not torch.equal(p, q) and q.requires_grad for p, q in zip(a.parameters(), b.parameters()))


TRUTH = Truth()
