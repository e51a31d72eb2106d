"""QMIX: agents and mixer share one optimizer, both have targets, and the state weighs the agents monotonically."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AgentNet(nn.Module):
    def __init__(self, obs=5, hidden=12, actions=3):
        super().__init__()
        self.fc, self.rnn, self.out = nn.Linear(obs, hidden), nn.GRUCell(hidden, hidden), nn.Linear(hidden, actions)

    def forward(self, obs):
        n, steps, agents, _ = obs.shape
        h, qs = obs.new_zeros(n * agents, self.rnn.hidden_size), []
        for t in range(steps):
            h = self.rnn(torch.relu(self.fc(obs[:, t].reshape(n * agents, -1))), h)
            qs.append(self.out(h).view(n, agents, -1))
        return torch.stack(qs, 1)


class QMixer(nn.Module):
    def __init__(self, agents=2, state=6, embed=8):
        super().__init__()
        self.agents, self.embed = agents, embed
        self.w1, self.b1 = nn.Linear(state, agents * embed), nn.Linear(state, embed)
        self.w2 = nn.Sequential(nn.Linear(state, embed), nn.ReLU(), nn.Linear(embed, embed))
        self.b2 = nn.Sequential(nn.Linear(state, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, qs, state):
        w1 = self.w1(state).abs().unflatten(-1, (self.agents, self.embed))
        hidden = F.elu((qs.unsqueeze(-2) @ w1).squeeze(-2) + self.b1(state))
        return (hidden * self.w2(state).abs()).sum(-1, keepdim=True) + self.b2(state)


class Learner:
    def __init__(self):
        self.agent, self.mixer = AgentNet(), QMixer()
        self.params = list(self.agent.parameters())
        self.params += list(self.mixer.parameters())
        self.targets = copy.deepcopy(self.agent), copy.deepcopy(self.mixer)
        self.optimiser = torch.optim.RMSprop(self.params, lr=5e-4, alpha=0.99, eps=1e-5)

    def train(self, obs, actions, rewards, state, mask):
        qs = self.agent(obs)
        chosen = qs[:, :-1].gather(-1, actions).squeeze(-1)
        with torch.no_grad():
            best = qs[:, 1:].clone().argmax(-1, keepdim=True)
            following = self.targets[0](obs)[:, 1:].gather(-1, best).squeeze(-1)
            wanted = rewards + 0.99 * self.targets[1](following, state[:, 1:])
        error = (self.mixer(chosen, state[:, :-1]) - wanted) * mask
        loss = error.pow(2).sum() / mask.sum()
        self.optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.params, 10)
        self.optimiser.step()
        return loss.item(), norm.item()

    def sync(self):
        self.targets[0].load_state_dict(self.agent.state_dict())
        self.targets[1].load_state_dict(self.mixer.state_dict())


def run(updates=4):
    torch.manual_seed(0)
    learner, log = Learner(), []
    start = learner.mixer.w1.weight.detach().clone()
    for update in range(updates):
        mask = torch.ones(6, 4, 1)
        mask[3:, 2:] = 0
        episode = torch.randn(6, 5, 2, 5), torch.randint(0, 3, (6, 4, 2, 1)), torch.randn(6, 4, 1), torch.randn(6, 5, 6)
        log.append(learner.train(*episode, mask))
        if update % 2:
            learner.sync()
    return learner, start, log


TRUTH = Truth()


def verify(out):
    learner, start, _ = out
    assert not torch.equal(learner.mixer.w1.weight, start)
