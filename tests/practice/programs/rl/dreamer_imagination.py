"""Dreamer: imagination starts from posterior states that still carry the world model's graph, already freed."""

import torch
from torch import nn

from tests.practice.truth import Truth


class WorldModel(nn.Module):
    def __init__(self, obs_dim=6, act_dim=2, deter=8, stoch=4):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.cell = nn.GRUCell(stoch + act_dim, deter)
        self.post = nn.Linear(deter + obs_dim, 2 * stoch)
        self.prior = nn.Linear(deter, 2 * stoch)
        self.decoder = nn.Linear(deter + stoch, obs_dim)
        self.reward = nn.Linear(deter + stoch, 1)

    def dist(self, stats):
        mean, std = stats.chunk(2, -1)
        return torch.distributions.Normal(mean, nn.functional.softplus(std) + 0.1)

    def observe(self, obs, act):
        h, z = torch.zeros(obs.shape[0], self.deter), torch.zeros(obs.shape[0], self.stoch)
        feats, kl = [], 0.0
        for t in range(obs.shape[1]):
            h = self.cell(torch.cat([z, act[:, t]], -1), h)
            prior, post = self.dist(self.prior(h)), self.dist(self.post(torch.cat([h, obs[:, t]], -1)))
            z = post.rsample()
            kl = kl + torch.distributions.kl_divergence(post, prior).sum(-1).mean()
            feats.append(torch.cat([h, z], -1))
        return torch.stack(feats, 1), kl

    def imagine(self, feat, actor, horizon=3):
        h, z = feat.split([self.deter, self.stoch], -1)  # also
        out = []
        for _ in range(horizon):
            a = torch.tanh(actor(torch.cat([h, z], -1)))
            h = self.cell(torch.cat([z, a], -1), h)
            z = self.dist(self.prior(h)).rsample()
            out.append(torch.cat([h, z], -1))
        return torch.stack(out)


def run():
    torch.manual_seed(0)
    wm, actor, critic = WorldModel(), nn.Linear(12, 2), nn.Linear(12, 1)
    wm_opt = torch.optim.Adam(wm.parameters(), lr=6e-4)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=8e-5)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=8e-5)
    for _ in range(2):
        obs, act, rew = torch.randn(3, 4, 6), torch.randn(3, 4, 2), torch.randn(3, 4, 1)
        feat, kl = wm.observe(obs, act)
        wm_loss = (wm.decoder(feat) - obs).pow(2).mean() + (wm.reward(feat) - rew).pow(2).mean() + 0.1 * kl
        wm_opt.zero_grad()
        wm_loss.backward()
        wm_opt.step()

        start = feat.flatten(0, 1)  # cause
        imagined = wm.imagine(start, actor)  # also
        ret = wm.reward(imagined) + 0.95 * critic(imagined)
        actor_opt.zero_grad()
        (-ret.mean()).backward()  # symptom
        actor_opt.step()

        critic_loss = (critic(imagined.detach()) - ret.detach()).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()


TRUTH = Truth(
    fault="the start of imagination is not detached from the world model's update",
    raises="Trying to backward through the graph a second time",
    names=("start",),
    repair=("start = feat.detach().flatten(0, 1)",),
)
