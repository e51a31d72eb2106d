"""A2C with a recurrent trunk: the state is cut from its graph between rollouts and masked at the end of episodes."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class RecurrentPolicy(nn.Module):
    def __init__(self, obs, hidden, acts):
        super().__init__()
        self.encoder = nn.Linear(obs, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.actor = nn.Linear(hidden, acts)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, x, h, mask):
        h = self.rnn(torch.relu(self.encoder(x)), h * mask)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1), h


def run():
    torch.manual_seed(0)
    envs, steps, gamma = 4, 5, 0.99
    net = RecurrentPolicy(3, 8, 2)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=7e-3, alpha=0.99, eps=1e-5)
    h, mask, obs = torch.zeros(envs, 8), torch.ones(envs, 1), torch.randn(envs, 3)
    norms = []
    for update in range(3):
        h = h.detach()
        logps, values, rewards, masks, entropies = [], [], [], [], []
        for t in range(steps):
            dist, value, h = net(obs, h, mask)
            action = dist.sample()
            obs = torch.randn(envs, 3)
            done = torch.rand(envs) < 0.2
            mask = (~done).float().unsqueeze(1)
            logps.append(dist.log_prob(action))
            values.append(value)
            entropies.append(dist.entropy())
            rewards.append(action.float())
            masks.append(mask.squeeze(1))
        with torch.no_grad():
            _, R, _ = net(obs, h, mask)
        returns = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            R = r + gamma * R * m
            returns.insert(0, R)
        values, returns = torch.stack(values), torch.stack(returns)
        advantage = returns - values
        policy_loss = -(torch.stack(logps) * advantage.detach()).mean()
        value_loss = advantage.pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5).item())
        optimizer.step()
        print(update, policy_loss.item(), value_loss.item())
    return net, norms


TRUTH = Truth()


def verify(out):
    net, norms = out
    assert all(0 < n < 1e3 for n in norms)
    assert all(p.grad is not None for p in net.parameters())
