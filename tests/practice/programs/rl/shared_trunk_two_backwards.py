"""Actor and critic share a trunk and are differentiated one after the other, with the graph kept for the second."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.policy = nn.Linear(16, 2)
        self.value = nn.Linear(16, 1)
        self.saved = []

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def finish_episode(model, optimizer, rewards, eps=1e-6):
    R, returns = 0.0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved, returns):
        policy_losses.append(-log_prob * (R - value.item()))
        value_losses.append(F.smooth_l1_loss(value, R))
    optimizer.zero_grad()
    torch.stack(policy_losses).sum().backward(retain_graph=True)
    from_policy = model.trunk[0].weight.grad.norm().item()
    torch.stack(value_losses).sum().backward()
    from_both = model.trunk[0].weight.grad.norm().item()
    optimizer.step()
    del model.saved[:]
    return from_policy, from_both


def run():
    torch.manual_seed(0)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    shares, running_reward = [], 10.0
    for episode in range(3):
        state, rewards = torch.randn(4), []
        for t in range(6):
            dist, value = model(state)
            action = dist.sample()
            model.saved.append((dist.log_prob(action), value))
            state = torch.randn(4) * (1 + action.item())
            rewards.append(float(action.item()) + 0.1 * t)
        running_reward = 0.05 * sum(rewards) + 0.95 * running_reward
        shares.append(finish_episode(model, optimizer, rewards))
    return model, shares


TRUTH = Truth()


def verify(out):
    model, shares = out
    assert all(a > 0 and a != b for a, b in shares)
    assert not model.saved
