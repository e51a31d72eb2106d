"""Reinforcement learning: a noisy, dueling, double, prioritised DQN that resets its noise in place; healthy."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.5):
        super().__init__()
        self.in_features, self.out_features, self.std_init = in_features, out_features, std_init
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features))
        self.weight_sigma = nn.Parameter(torch.empty(out_features, in_features))
        self.register_buffer("weight_epsilon", torch.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.empty(out_features))
        self.bias_sigma = nn.Parameter(torch.empty(out_features))
        self.register_buffer("bias_epsilon", torch.empty(out_features))
        mu_range = 1 / math.sqrt(in_features)
        self.weight_mu.data.uniform_(-mu_range, mu_range)
        self.weight_sigma.data.fill_(std_init / math.sqrt(in_features))
        self.bias_mu.data.uniform_(-mu_range, mu_range)
        self.bias_sigma.data.fill_(std_init / math.sqrt(out_features))
        self.reset_noise()

    @staticmethod
    def _scale_noise(size):
        x = torch.randn(size)
        return x.sign().mul_(x.abs().sqrt_())

    def reset_noise(self):
        epsilon_in, epsilon_out = self._scale_noise(self.in_features), self._scale_noise(self.out_features)
        self.weight_epsilon.copy_(epsilon_out.outer(epsilon_in))
        self.bias_epsilon.copy_(epsilon_out)

    def forward(self, input):
        if not self.training:
            return F.linear(input, self.weight_mu, self.bias_mu)
        return F.linear(input, self.weight_mu + self.weight_sigma * self.weight_epsilon, self.bias_mu + self.bias_sigma * self.bias_epsilon)


class DQN(nn.Module):
    def __init__(self, obs, actions, hidden=16):
        super().__init__()
        self.body = nn.Linear(obs, hidden)
        self.fc_z_v, self.fc_z_a = NoisyLinear(hidden, 1), NoisyLinear(hidden, actions)

    def forward(self, x):
        x = F.relu(self.body(x))
        v, a = self.fc_z_v(x), self.fc_z_a(x)
        return v + a - a.mean(1, keepdim=True)

    def reset_noise(self):
        for name, module in self.named_children():
            if "fc" in name:
                module.reset_noise()


class Memory:
    def __init__(self, n):
        self.obs, self.next, self.r = torch.randn(n, 4), torch.randn(n, 4), torch.randn(n)
        self.a, self.priority = torch.randint(0, 3, (n,)), torch.ones(n)

    def sample(self, size):
        p = self.priority / self.priority.sum()
        idx = torch.multinomial(p, size)
        w = (len(p) * p[idx]).pow(-0.4)
        return idx, self.obs[idx], self.a[idx], self.r[idx], self.next[idx], w / w.max()

    def update_priorities(self, idx, priorities):
        self.priority[idx] = priorities.pow(0.5) + 1e-6


class Agent:
    def __init__(self):
        self.online_net, self.target_net = DQN(4, 3), DQN(4, 3)
        self.update_target_net()
        self.online_net.train()
        self.target_net.train()
        for param in self.target_net.parameters():
            param.requires_grad = False
        self.optimiser = torch.optim.Adam(self.online_net.parameters(), lr=1e-2, eps=1.5e-4)

    def update_target_net(self):
        self.target_net.load_state_dict(self.online_net.state_dict())

    def learn(self, mem, discount=0.9):
        idxs, states, actions, returns, next_states, weights = mem.sample(16)
        q = self.online_net(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online_net(next_states).argmax(1, keepdim=True)
            self.target_net.reset_noise()
            target = returns + discount * self.target_net(next_states).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(q, target, reduction="none")
        self.online_net.zero_grad()
        (weights * loss).mean().backward()
        nn.utils.clip_grad_norm_(self.online_net.parameters(), 10)
        self.optimiser.step()
        mem.update_priorities(idxs, loss.detach())


def run():
    torch.manual_seed(1)
    agent, mem = Agent(), Memory(64)
    before = {n: p.detach().clone() for n, p in agent.online_net.named_parameters()}
    for t in range(4):
        agent.online_net.reset_noise()
        agent.learn(mem)
        if t == 2:
            agent.update_target_net()
    return before, agent, mem


def verify(outcome):
    before, agent, mem = outcome
    assert all(not torch.equal(p, before[n]) for n, p in agent.online_net.named_parameters())
    assert all(not torch.equal(p, before[n]) for n, p in agent.target_net.named_parameters())
    assert not torch.equal(mem.priority, torch.ones(64)) and not mem.priority.requires_grad


TRUTH = Truth()
