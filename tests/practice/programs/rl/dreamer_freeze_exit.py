"""World models: FreezeParameters notes the flags after it has switched them off, so the world model stays frozen after the first actor step."""

from typing import Iterable

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def get_parameters(modules: Iterable[nn.Module]):
    return [p for module in modules for p in module.parameters()]


class FreezeParameters:
    def __init__(self, modules):
        self.modules = modules

    def __enter__(self):
        for param in get_parameters(self.modules):
            param.requires_grad = False
        self.param_states = [p.requires_grad for p in get_parameters(self.modules)]  # cause

    def __exit__(self, *exc):
        for param, state in zip(get_parameters(self.modules), self.param_states):
            param.requires_grad = state


class RSSM(nn.Module):
    def __init__(self, stoch=4, deter=8, action=2, embed=6):
        super().__init__()
        self.cell = nn.GRUCell(stoch + action, deter)
        self.prior = nn.Linear(deter, 2 * stoch)
        self.post = nn.Linear(deter + embed, 2 * stoch)
        self.stoch, self.deter = stoch, deter

    def dist(self, stats):
        mean, std = stats.chunk(2, -1)
        return torch.distributions.Normal(mean, F.softplus(std) + 0.1)

    def observe(self, embed, action, stoch, deter):
        deter = self.cell(torch.cat([stoch, action], -1), deter)
        prior, post = self.dist(self.prior(deter)), self.dist(self.post(torch.cat([deter, embed], -1)))
        return prior, post, post.rsample(), deter

    def imagine(self, action, stoch, deter):
        deter = self.cell(torch.cat([stoch, action], -1), deter)
        return self.dist(self.prior(deter)).rsample(), deter


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ELU()]
    return nn.Sequential(*layers[:-1])


class Dreamer:
    def __init__(self, obs=5):
        self.encoder, self.rssm, self.decoder, self.reward = mlp(obs, 6), RSSM(), mlp(12, 12, obs), mlp(12, 12, 1)
        self.actor, self.value = mlp(12, 12, 2), mlp(12, 12, 1)
        self.world = [self.encoder, self.rssm, self.decoder, self.reward]
        self.model_opt = torch.optim.Adam(get_parameters(self.world), lr=1e-2)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-2)
        self.value_opt = torch.optim.Adam(self.value.parameters(), lr=1e-2)

    def world_loss(self, obs, actions, rewards):
        T, B = obs.shape[:2]
        stoch, deter = torch.zeros(B, 4, requires_grad=True), torch.zeros(B, 8, requires_grad=True)
        loss, starts = 0.0, []
        for t in range(T):
            prior, post, stoch, deter = self.rssm.observe(self.encoder(obs[t]), actions[t], stoch, deter)
            feat = torch.cat([stoch, deter], -1)
            kl = torch.distributions.kl_divergence(post, prior).sum(-1).mean().clamp(min=0.1)
            loss = loss + F.mse_loss(self.decoder(feat), obs[t]) + F.mse_loss(self.reward(feat)[:, 0], rewards[t]) + kl
            starts.append((stoch.detach(), deter.detach()))
        return loss, starts

    def actor_loss(self, starts, horizon=3, gamma=0.95):
        stoch, deter = (torch.cat(s) for s in zip(*starts))
        with FreezeParameters(self.world + [self.value]):
            returns, feats = 0.0, []
            for h in range(horizon):
                feat = torch.cat([stoch, deter], -1)
                feats.append(feat.detach())
                stoch, deter = self.rssm.imagine(torch.tanh(self.actor(feat)), stoch, deter)
                returns = returns + gamma**h * self.reward(torch.cat([stoch, deter], -1))
            returns = returns + gamma**horizon * self.value(torch.cat([stoch, deter], -1))
        return -returns.mean(), feats[0], returns.detach()

    def update(self, batch):
        model_loss, starts = self.world_loss(*batch)
        self.model_opt.zero_grad()
        model_loss.backward()
        self.model_opt.step()
        actor_loss, feat, target = self.actor_loss(starts)
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        value_loss = F.mse_loss(self.value(feat.requires_grad_()), target)
        self.value_opt.zero_grad()
        value_loss.backward()
        self.value_opt.step()
        return self.encoder[0].weight.detach().clone()


def run():
    torch.manual_seed(0)
    agent = Dreamer()
    return [agent.update((torch.randn(4, 3, 5), torch.randn(4, 3, 2), torch.randn(4, 3))) for _ in range(3)]


def verify(weights):
    assert all(torch.equal(weights[0], w) for w in weights)


TRUTH = Truth(
    fault="FreezeParameters restores requires_grad=False: world model and value are frozen from the first actor step on",
    names=("encoder",),
    repair=("self.param_states = [True for p in get_parameters(self.modules)]",),
)
