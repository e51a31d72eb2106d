"""Reinforcement learning: the advantage lost its .item(), and the policy's loss pulls the value head the wrong way."""

from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

from tests.practice.truth import Truth

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class CartPole:
    """Good enough to fall over."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def reset(self):
        self.state = (torch.rand(4, generator=self.g) - 0.5) * 0.1
        return self.state

    def step(self, action):
        x, dx, th, dth = self.state
        force = 10.0 if action == 1 else -10.0
        ddth = (9.8 * torch.sin(th) - torch.cos(th) * force / 1.1) / 0.65
        ddx = force / 1.1 - 0.05 * ddth
        self.state = torch.stack([x + 0.02 * dx, dx + 0.02 * ddx, th + 0.02 * dth, dth + 0.02 * ddth])
        return self.state, 1.0, bool(self.state[2].abs() > 0.2)


class Policy(nn.Module):
    """implements both actor and critic in one model"""

    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state):
    probs, state_value = model(state.float())
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode(model, optimizer, gamma=0.99, eps=1e-8):
    R, returns = 0, []
    policy_losses, value_losses = [], []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value  # cause
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.view(1)))
    optimizer.zero_grad()
    policy_loss, value_loss = torch.stack(policy_losses).sum(), torch.stack(value_losses).sum()
    leak = torch.autograd.grad(policy_loss, model.value_head.bias, retain_graph=True, allow_unused=True)[0]
    loss = policy_loss + value_loss
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return leak


def run():
    torch.manual_seed(543)
    env, model = CartPole(543), Policy()
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    running_reward, leaks = 10.0, []
    for i_episode in range(3):
        state, ep_reward = env.reset(), 0.0
        for t in range(12):
            action = select_action(model, state)
            state, reward, done = env.step(action)
            model.rewards.append(reward)
            ep_reward += reward
            if done:
                break
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        leaks.append(finish_episode(model, optimizer))
    return leaks


def verify(leaks):
    assert all(g is not None and g.abs().sum() > 0 for g in leaks)


TRUTH = Truth(
    fault="the policy loss reaches the value head through the advantage",
    names=("value_head",),
    repair=("advantage = R - value.item()",),
)
