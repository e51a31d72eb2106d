"""A world model and an actor that learns by imagining in it; the world model's gradients are not only its own."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WorldModel(nn.Module):
    def __init__(self, obs=5, act=2, latent=8):
        super().__init__()
        self.encoder = nn.Linear(obs, latent)
        self.cell = nn.GRUCell(act, latent)
        self.decoder = nn.Linear(latent, obs)
        self.reward = nn.Linear(latent, 1)

    def loss(self, obs, actions, rewards):
        z = torch.tanh(self.encoder(obs[:, 0]))
        total = 0.0
        for t in range(actions.shape[1]):
            z = self.cell(actions[:, t], z)
            total = total + F.mse_loss(self.decoder(z), obs[:, t + 1])
            total = total + F.mse_loss(self.reward(z).squeeze(-1), rewards[:, t])
        return total / actions.shape[1]


class Agent:
    def __init__(self):
        self.world = WorldModel()
        self.actor = nn.Sequential(nn.Linear(8, 16), nn.ELU(), nn.Linear(16, 2), nn.Tanh())
        self.world_opt = torch.optim.Adam(self.world.parameters(), lr=6e-4)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=8e-5)
        self.left_over = []

    def learn_world(self, obs, actions, rewards):
        loss = self.world.loss(obs, actions, rewards)
        alone = torch.autograd.grad(loss, self.world.reward.weight, retain_graph=True)[0]
        loss.backward()
        self.left_over.append((self.world.reward.weight.grad - alone).norm().item())
        nn.utils.clip_grad_norm_(self.world.parameters(), 100.0)
        self.world_opt.step()  # symptom
        self.world_opt.zero_grad()  # also
        return loss.item()

    def learn_actor(self, obs, horizon=4, discount=0.95):
        with torch.no_grad():
            z = torch.tanh(self.world.encoder(obs[:, 0]))
        value = 0.0
        for t in range(horizon):
            z = self.world.cell(self.actor(z), z)
            value = value + discount**t * self.world.reward(z).mean()
        (-value).backward()  # cause
        self.actor_opt.step()
        self.actor_opt.zero_grad()
        return value.item()


def episodes(n=6, length=5):
    return torch.randn(n, length + 1, 5), torch.rand(n, length, 2) * 2 - 1, torch.randn(n, length)


def run(updates=3):
    torch.manual_seed(0)
    agent = Agent()
    for update in range(updates):
        batch = episodes()
        model_loss = agent.learn_world(*batch)
        value = agent.learn_actor(batch[0])
        print(f"update {update} model {model_loss:.3f} imagined return {value:.3f}")
    return agent.left_over


def verify(left_over):
    assert left_over[0] < 1e-6 and min(left_over[1:]) > 1e-6


TRUTH = Truth(
    fault="the actor's backward also fills the world model's gradients, which are in its next step",
    names=("world", "zero_grad"),
    repair=("(-value).backward(inputs=list(self.actor.parameters()))",),
)
