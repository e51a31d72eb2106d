"""REINFORCE: the loss is a new tensor made of the numbers of the log-probabilities."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(4, 16), nn.Linear(16, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


def select_action(policy, state):
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer):
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_loss = torch.tensor([-p * r for p, r in zip(policy.saved_log_probs, returns)], requires_grad=True)  # cause
    optimizer.zero_grad()
    policy_loss.sum().backward()
    optimizer.step()
    del policy.rewards[:], policy.saved_log_probs[:]


def run():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(3):
        for _ in range(5):
            policy.rewards.append(float(select_action(policy, torch.randn(4))))
        finish_episode(policy, optimizer)
    return policy.affine1.weight.grad


TRUTH = Truth(
    fault="torch.tensor leaves the graph behind",
    repair=("policy_loss = torch.stack([-p * r for p, r in zip(policy.saved_log_probs, returns)])",),
)


def verify(grad):
    assert grad is None
