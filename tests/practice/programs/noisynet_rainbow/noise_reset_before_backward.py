"""Rainbow-like noisy DQN: the noise is drawn anew in place for the double-DQN target, between forward and backward."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class NoisyLinear(nn.Module):
    def __init__(self, cin, cout, std_init=0.5):
        super().__init__()
        self.cin, self.cout = cin, cout
        bound = 1 / math.sqrt(cin)
        self.weight_mu = nn.Parameter(torch.empty(cout, cin).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((cout, cin), std_init * bound))
        self.bias_mu = nn.Parameter(torch.zeros(cout))
        self.bias_sigma = nn.Parameter(torch.full((cout,), std_init / math.sqrt(cout)))
        self.register_buffer("weight_epsilon", torch.empty(cout, cin))
        self.register_buffer("bias_epsilon", torch.empty(cout))
        self.reset_noise()

    @staticmethod
    def scaled(n):
        x = torch.randn(n)
        return x.sign() * x.abs().sqrt()

    def reset_noise(self):
        e_in, e_out = self.scaled(self.cin), self.scaled(self.cout)
        self.weight_epsilon.copy_(torch.outer(e_out, e_in))  # also
        self.bias_epsilon.copy_(e_out)

    def forward(self, x):
        weight = self.weight_mu + self.weight_sigma * self.weight_epsilon
        return F.linear(x, weight, self.bias_mu + self.bias_sigma * self.bias_epsilon)


class QNet(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs, 16), NoisyLinear(16, actions)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())

    def reset_noise(self):
        self.fc2.reset_noise()


class Agent:
    def __init__(self):
        self.online, self.target = QNet(), QNet()
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=1e-3, eps=1.5e-4)
        self.discount = 0.99

    def learn(self, states, actions, rewards, next_states):
        q = self.online(states).gather(1, actions)
        with torch.no_grad():
            self.online.reset_noise()  # cause
            best = self.online(next_states).argmax(1, keepdim=True)
            self.target.reset_noise()
            goal = rewards + self.discount * self.target(next_states).gather(1, best)
        loss = F.smooth_l1_loss(q, goal)
        self.optimiser.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimiser.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    agent = Agent()
    batch = lambda: (torch.randn(8, 4), torch.randint(0, 3, (8, 1)), torch.randn(8, 1), torch.randn(8, 4))
    return [agent.learn(*batch()) for _ in range(3)]


TRUTH = Truth(
    fault="reset_noise overwrites weight_epsilon, which the forward of q saved for the gradient of weight_sigma",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("weight_epsilon", "reset_noise"),
    repair=("# the same noise for choosing the action",),
)
