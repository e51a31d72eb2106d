"""Reinforcement learning: the value loss of implicit Q-learning runs through an online critic and adds to its gradient."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CONFIG = dict(obs=6, act=2, hidden=32, gamma=0.99, expectile=0.7, tau=0.05, lr=3e-3, steps=3)


def mlp(inp, out, hidden):
    return nn.Sequential(nn.Linear(inp, hidden), nn.Tanh(), nn.Linear(hidden, out))


class Critic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = mlp(cfg["obs"] + cfg["act"], 1, cfg["hidden"])

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], dim=-1)).squeeze(-1)


class Agent(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.q1, self.q2 = Critic(cfg), Critic(cfg)
        self.q1_target = copy.deepcopy(self.q1).requires_grad_(False)
        self.q2_target = copy.deepcopy(self.q2).requires_grad_(False)
        self.value = mlp(cfg["obs"], 1, cfg["hidden"])

    def critic_losses(self, b):
        with torch.no_grad():
            backup = b["rew"] + self.cfg["gamma"] * (1 - b["done"]) * self.value(b["next_obs"]).squeeze(-1)
        return (
            F.mse_loss(self.q1(b["obs"], b["act"]), backup),
            F.mse_loss(self.q2(b["obs"], b["act"]), backup),
        )

    def value_loss(self, b):
        q1 = self.q1_target(b["obs"], b["act"])
        q2 = self.q2(b["obs"], b["act"])  # cause
        diff = torch.minimum(q1, q2) - self.value(b["obs"]).squeeze(-1)
        weight = torch.where(diff > 0, self.cfg["expectile"], 1 - self.cfg["expectile"])
        return (weight * diff.pow(2)).mean()

    @torch.no_grad()
    def polyak(self):
        for net, target in ((self.q1, self.q1_target), (self.q2, self.q2_target)):
            for p, t in zip(net.parameters(), target.parameters()):
                t.lerp_(p, self.cfg["tau"])


def make_batch(cfg, n=32):
    return {
        "obs": torch.randn(n, cfg["obs"]),
        "act": torch.randn(n, cfg["act"]).tanh(),
        "rew": torch.randn(n),
        "next_obs": torch.randn(n, cfg["obs"]),
        "done": (torch.rand(n) < 0.1).float(),
    }


def run(cfg=CONFIG):
    torch.manual_seed(1)
    agent = Agent(cfg)
    optimizers = {
        "q1": torch.optim.Adam(agent.q1.parameters(), lr=cfg["lr"]),
        "q2": torch.optim.Adam(agent.q2.parameters(), lr=cfg["lr"]),
        "v": torch.optim.Adam(agent.value.parameters(), lr=cfg["lr"]),
    }
    spill = []
    for _ in range(cfg["steps"]):
        batch = make_batch(cfg)
        for opt in optimizers.values():
            opt.zero_grad()
        loss_q1, loss_q2 = agent.critic_losses(batch)
        (own,) = torch.autograd.grad(loss_q2, agent.q2.net[0].weight, retain_graph=True)
        loss_v = agent.value_loss(batch)
        for loss in (loss_q1, loss_q2, loss_v):
            loss.backward()
        spill.append((agent.q2.net[0].weight.grad - own).abs().max().item())
        for opt in optimizers.values():
            opt.step()
        agent.polyak()
    return spill


def verify(outcome):
    assert all(extra > 1e-4 for extra in outcome)


TRUTH = Truth(
    fault="value_loss uses the online q2 where the frozen q2_target belongs: its gradient spills into q2",
    names=("q2",),
    repair=('q2 = self.q2_target(b["obs"], b["act"])',),
)
