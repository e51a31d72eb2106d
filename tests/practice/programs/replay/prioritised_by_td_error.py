"""Prioritised replay: priorities are written with their graph, and the next step's sampling weights lead into it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PrioritisedReplay:
    def __init__(self, capacity, obs, alpha=0.6):
        self.obs = torch.zeros(capacity, obs)
        self.next_obs = torch.zeros(capacity, obs)
        self.action = torch.zeros(capacity, dtype=torch.long)
        self.reward = torch.zeros(capacity)
        self.priority = torch.zeros(capacity)
        self.alpha, self.size = alpha, 0

    def add(self, obs, action, reward, next_obs):
        i = self.size % len(self.obs)
        self.obs[i], self.next_obs[i], self.action[i], self.reward[i] = obs, next_obs, action, reward
        self.priority[i] = max(1.0, float(self.priority.max()))
        self.size += 1

    def sample(self, n, beta=0.4):
        p = self.priority[: self.size] ** self.alpha
        p = p / p.sum()
        idx = torch.multinomial(p, n)
        weights = (self.size * p[idx]) ** -beta
        return idx, weights / weights.max()

    def update(self, idx, td_error):
        self.priority[idx] = td_error.abs() + 1e-5  # cause


class DuelingDQN(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(obs, 16), nn.ReLU())
        self.value, self.advantage = nn.Linear(16, 1), nn.Linear(16, actions)

    def forward(self, x):
        h = self.torso(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


def run():
    torch.manual_seed(0)
    online, target = DuelingDQN(), DuelingDQN()
    target.load_state_dict(online.state_dict())
    opt = torch.optim.Adam(online.parameters(), lr=1e-3)
    buffer = PrioritisedReplay(32, 4)
    for _ in range(20):
        buffer.add(torch.randn(4), int(torch.randint(0, 3, ())), float(torch.randn(())), torch.randn(4))
    for step in range(3):
        idx, weights = buffer.sample(8)
        q = online(buffer.obs[idx]).gather(1, buffer.action[idx, None]).squeeze(1)
        with torch.no_grad():
            best = online(buffer.next_obs[idx]).argmax(1, keepdim=True)
            backup = buffer.reward[idx] + 0.99 * target(buffer.next_obs[idx]).gather(1, best).squeeze(1)
        td = backup - q
        loss = (weights * F.huber_loss(q, backup, reduction="none")).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        buffer.update(idx, td)  # also
        print(f"step {step} loss {loss.item():.4f} max priority {buffer.priority.max().item():.3f}")
    return online


TRUTH = Truth(
    fault="the priorities keep the graph of the errors they were set from",
    raises="Trying to backward through the graph a second time",
    names=("priority",),
    repair=("self.priority[idx] = td_error.detach().abs() + 1e-5",),
)
