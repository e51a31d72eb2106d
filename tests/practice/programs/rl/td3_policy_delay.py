"""TD3: the actor learns at every second step only, from the first of two critics."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim, max_action):
        super().__init__()
        self.l1 = nn.Linear(state_dim, 16)
        self.l2 = nn.Linear(16, action_dim)
        self.max_action = max_action

    def forward(self, state):
        return self.max_action * torch.tanh(self.l2(F.relu(self.l1(state))))


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.l1, self.l2 = nn.Linear(state_dim + action_dim, 16), nn.Linear(16, 1)
        self.l3, self.l4 = nn.Linear(state_dim + action_dim, 16), nn.Linear(16, 1)

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.l2(F.relu(self.l1(sa))), self.l4(F.relu(self.l3(sa)))

    def Q1(self, state, action):
        return self.l2(F.relu(self.l1(torch.cat([state, action], 1))))


class TD3:
    def __init__(self, state_dim, action_dim):
        self.actor = Actor(state_dim, action_dim, 1.0)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic = Critic(state_dim, action_dim)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.total_it = 0

    def select_action(self, state):
        return self.actor(torch.as_tensor(state).float().reshape(1, -1)).cpu().data.numpy().flatten()

    def train(self, state, action, next_state, reward, not_done):
        self.total_it += 1
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            next_action = (self.actor_target(next_state) + noise).clamp(-1.0, 1.0)
            target_Q = torch.min(*self.critic_target(next_state, next_action))
            target_Q = reward + not_done * 0.99 * target_Q
        current_Q1, current_Q2 = self.critic(state, action)
        critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        if self.total_it % 2 == 0:
            actor_loss = -self.critic.Q1(state, self.actor(state)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            for net, net_target in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
                for param, target_param in zip(net.parameters(), net_target.parameters()):
                    target_param.data.copy_(0.005 * param.data + 0.995 * target_param.data)
        return critic_loss.item()


def run():
    torch.manual_seed(0)
    agent = TD3(4, 2)
    losses = []
    for _ in range(4):
        action = agent.select_action([0.1, 0.2, 0.3, 0.4])
        batch_action = torch.as_tensor(action) + 0.1 * torch.randn(16, 2)
        args = torch.randn(16, 4), batch_action, torch.randn(16, 4), torch.randn(16, 1), torch.ones(16, 1)
        losses.append(agent.train(*args))
    return agent, losses


TRUTH = Truth()


def verify(out):
    agent, losses = out
    assert all(loss < 100 for loss in losses)
    assert all(p.grad is not None for p in agent.actor.parameters())
    assert all(p.grad is None for p in agent.actor_target.parameters())
    assert not torch.equal(agent.critic.l3.weight, agent.critic_target.l3.weight)
