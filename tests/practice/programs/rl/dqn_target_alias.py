"""Reinforcement learning: at the first synchronisation the target network becomes the Q-network itself."""

import copy
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

from tests.practice.truth import Truth

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        return self.layer3(x)


class Agent:
    def __init__(self, n_obs=4, n_actions=2, gamma=0.99, batch_size=8, target_update=3):
        self.policy_net = DQN(n_obs, n_actions)
        self.target_net = copy.deepcopy(self.policy_net)
        self.optimizer = optim.AdamW(self.policy_net.parameters(), lr=1e-2, amsgrad=True)
        self.memory = ReplayMemory(64)
        self.n_actions, self.gamma, self.batch_size, self.target_update = n_actions, gamma, batch_size, target_update
        self.steps_done = 0

    def select_action(self, state, eps=0.2):
        if random.random() > eps:
            with torch.no_grad():
                return self.policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(self.n_actions)]], dtype=torch.long)

    def sync(self):
        self.target_net = self.policy_net  # cause

    def optimize_model(self):
        if len(self.memory) < self.batch_size:
            return
        batch = Transition(*zip(*self.memory.sample(self.batch_size)))
        non_final_mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
        state_batch, action_batch, reward_batch = (
            torch.cat(batch.state),
            torch.cat(batch.action),
            torch.cat(batch.reward),
        )
        state_action_values = self.policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(self.batch_size)
        if non_final_mask.any():
            with torch.no_grad():
                following = torch.cat([s for s in batch.next_state if s is not None])
                next_state_values[non_final_mask] = self.target_net(following).max(1).values
        expected = (next_state_values * self.gamma) + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()
        self.steps_done += 1
        if self.steps_done % self.target_update == 0:
            self.sync()


def walk(state, action):
    nxt = state * 0.9 + 0.1 * torch.randn_like(state) + (0.05 if action.item() else -0.05)
    done = random.random() < 0.1
    return (None if done else nxt), torch.tensor([1.0 - float(state.abs().mean())])


def run():
    torch.manual_seed(0)
    random.seed(0)
    agent = Agent()
    state, lag = torch.randn(1, 4), []
    for t in range(18):
        action = agent.select_action(state)
        next_state, reward = walk(state, action)
        agent.memory.push(state, action, next_state, reward)
        state = torch.randn(1, 4) if next_state is None else next_state
        agent.optimize_model()
        lag.append(float((agent.policy_net.layer1.weight - agent.target_net.layer1.weight).abs().max()))
    return lag


def verify(lag):
    assert max(lag) > 0 and max(lag[12:]) == 0


TRUTH = Truth(
    fault="target_net is the policy network (assigned, not loaded), it follows every step",
    names=("target_net",),
    repair=("self.target_net.load_state_dict(self.policy_net.state_dict())",),
)
