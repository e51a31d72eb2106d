"""QMIX: the list of parameters is concatenated with the mixer's, and the result is thrown away."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class AgentNet(nn.Module):
    def __init__(self, obs=5, actions=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs, 16), nn.Linear(16, actions)

    def forward(self, obs):
        return self.fc2(torch.relu(self.fc1(obs)))


class QMixer(nn.Module):
    def __init__(self, agents=2, state=6, embed=8):
        super().__init__()
        self.agents, self.embed = agents, embed
        self.hyper_w1 = nn.Linear(state, agents * embed)
        self.hyper_b1 = nn.Linear(state, embed)
        self.hyper_w2 = nn.Linear(state, embed)
        self.value = nn.Sequential(nn.Linear(state, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, qs, state):
        w1 = self.hyper_w1(state).abs().view(-1, self.agents, self.embed)
        hidden = nn.functional.elu(torch.bmm(qs.unsqueeze(1), w1).squeeze(1) + self.hyper_b1(state))
        return (hidden * self.hyper_w2(state).abs()).sum(1, keepdim=True) + self.value(state)


class QLearner:
    def __init__(self, agents=2):
        self.agent, self.mixer = AgentNet(), QMixer(agents)
        self.params = list(self.agent.parameters())
        self.target_agent, self.target_mixer = copy.deepcopy(self.agent), copy.deepcopy(self.mixer)
        self.params + list(self.mixer.parameters())  # cause
        self.optimiser = torch.optim.RMSprop(self.params, lr=5e-4, alpha=0.99, eps=1e-5)  # also

    def train(self, batch):
        obs, actions, rewards, next_obs, state, next_state = batch
        chosen = self.agent(obs).gather(2, actions).squeeze(2)
        with torch.no_grad():
            best = self.agent(next_obs).argmax(2, keepdim=True)
            following = self.target_agent(next_obs).gather(2, best).squeeze(2)
            target = rewards + 0.99 * self.target_mixer(following, next_state)
        loss = (self.mixer(chosen, state) - target).pow(2).mean()
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 10)
        self.optimiser.step()
        return loss.item()

    def update_targets(self):
        self.target_agent.load_state_dict(self.agent.state_dict())
        self.target_mixer.load_state_dict(self.mixer.state_dict())


def batch(n=8):
    return (
        torch.randn(n, 2, 5),
        torch.randint(0, 3, (n, 2, 1)),
        torch.randn(n, 1),
        torch.randn(n, 2, 5),
        torch.randn(n, 6),
        torch.randn(n, 6),
    )


def run(steps=4):
    torch.manual_seed(0)
    learner = QLearner()
    before = learner.mixer.hyper_w1.weight.detach().clone()
    for step in range(steps):
        learner.train(batch())
        if step % 2:
            learner.update_targets()
    return learner, before


def verify(out):
    learner, before = out
    assert torch.equal(learner.mixer.hyper_w1.weight, before)


TRUTH = Truth(
    fault="the mixer's parameters are in no optimizer",
    names=("mixer",),
    repair=("self.params += list(self.mixer.parameters())",),
)
