"""Reinforcement learning: the compiled PPO loss of a small policy, two epochs on one rollout."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the old log-probability is of the current policy with its graph, so it cancels in the ratio: no gradient",
    names=("old", "ratio", "logp", "policy"),
    repair=("old = rollout_logp",),
)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.Tanh())
        self.head = nn.Linear(16, 3)

    def logp(self, obs, action):
        return torch.log_softmax(self.head(self.body(obs)), -1).gather(1, action[:, None])[:, 0]


def setup():
    torch.manual_seed(0)


def run():
    policy = Policy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def surrogate(obs, action, advantage, rollout_logp):
        new = policy.logp(obs, action)
        old = policy.logp(obs, action)  # cause
        ratio = torch.exp(new - old)
        clipped = ratio.clamp(0.8, 1.2)
        return -torch.minimum(ratio * advantage, clipped * advantage).mean(), ratio

    obs, action = torch.randn(16, 5), torch.randint(3, (16,))
    advantage = torch.randn(16)
    advantage = (advantage - advantage.mean()) / advantage.std()
    with torch.no_grad():
        rollout_logp = policy.logp(obs, action)
    norms, ratios = [], []
    for _ in range(3):
        loss, ratio = surrogate(obs, action, advantage, rollout_logp)
        optimizer.zero_grad()
        loss.backward()  # symptom
        norms.append(sum(p.grad.norm() for p in policy.parameters()).item())
        ratios.append(ratio.detach())
        optimizer.step()
    return norms, ratios


def verify(outcome):
    norms, ratios = outcome
    assert max(norms) < 1e-5
    assert all(torch.equal(r, torch.ones(16)) for r in ratios)
