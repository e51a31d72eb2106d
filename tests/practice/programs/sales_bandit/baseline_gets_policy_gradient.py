"""Pricing bandit: the advantage is not detached, so the baseline also learns from the policy's loss (and away from its target)."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class PricingAgent(nn.Module):
    def __init__(self, context=5, prices=4):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(context, 16), nn.ReLU(), nn.Linear(16, prices))
        self.baseline = nn.Linear(context, 1)

    def forward(self, c):
        return Categorical(logits=self.policy(c)), self.baseline(c).squeeze(-1)


def revenue(context, price):
    demand = torch.sigmoid(2 + context[:, 0] - price.float())
    return price.float() * (torch.rand_like(demand) < demand).float()


def reinforce(agent, context):
    dist, value = agent(context)
    price = dist.sample()
    earned = revenue(context, price)
    advantage = earned - value  # cause
    policy_loss = -(dist.log_prob(price) * advantage).mean()
    value_loss = 0.5 * (earned - value).square().mean()
    return policy_loss, value_loss, dist.entropy().mean()


def run():
    torch.manual_seed(0)
    agent = PricingAgent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
    error = []
    for _ in range(4):
        policy_loss, value_loss, entropy = reinforce(agent, torch.randn(64, 5))
        (wanted,) = torch.autograd.grad(value_loss, agent.baseline.weight, retain_graph=True)
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss - 0.01 * entropy).backward()
        error.append((agent.baseline.weight.grad - 0.5 * wanted).norm().item() / wanted.norm().item())
        optimizer.step()
    return error


def verify(outcome):
    assert min(outcome) > 0.05


TRUTH = Truth(
    fault="through the advantage the policy gradient flows into the baseline",
    names=("baseline", "advantage"),
    repair=("advantage = (earned - value).detach()",),
)
