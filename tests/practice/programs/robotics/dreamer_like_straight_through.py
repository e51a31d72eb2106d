"""A latent model with one-hot straight-through codes, balanced KL, and an actor on imagined states."""

import torch
from torch import nn
from torch.distributions import Independent, OneHotCategoricalStraightThrough, kl_divergence
from torch.nn import functional as F

from tests.practice.truth import Truth


class World(nn.Module):
    def __init__(self, obs=5, groups=2, classes=3):
        super().__init__()
        self.shape = (groups, classes)
        n = groups * classes
        self.post, self.prior = nn.Linear(obs + n, n), nn.Linear(n + 1, n)
        self.decoder, self.reward = nn.Linear(n, obs), nn.Linear(n, 1)

    def dist(self, logits):
        return Independent(OneHotCategoricalStraightThrough(logits=logits.view(-1, *self.shape)), 1)

    def step(self, z, a, o):
        prior = self.prior(torch.cat([z, a], -1))
        post = self.post(torch.cat([o, z], -1))
        return self.dist(post).rsample().flatten(1), post, prior

    def kl(self, post, prior):
        lhs = kl_divergence(self.dist(post.detach()), self.dist(prior)).mean()
        rhs = kl_divergence(self.dist(post), self.dist(prior.detach())).mean()
        return 0.8 * lhs.clamp(min=0.01) + 0.2 * rhs.clamp(min=0.01)


def run():
    torch.manual_seed(0)
    world = World()
    actor, critic = nn.Linear(6, 1), nn.Linear(6, 1)
    opt_w = torch.optim.Adam(world.parameters(), lr=1e-3)
    opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(3):
        z, loss, states = torch.zeros(4, 6), 0.0, []
        for _ in range(3):
            o, a, r = torch.randn(4, 5), torch.rand(4, 1), torch.randn(4, 1)
            z, post, prior = world.step(z, a, o)
            states.append(z.detach())
            loss = loss + F.mse_loss(world.decoder(z), o) + F.mse_loss(world.reward(z), r) + world.kl(post, prior)
        opt_w.zero_grad()
        loss.backward()
        opt_w.step()

        world.requires_grad_(False)
        z, total, seen = torch.cat(states), 0.0, []
        for _ in range(2):
            seen.append(z.detach())
            a = torch.tanh(actor(z))
            z = world.dist(world.prior(torch.cat([z, a], -1))).rsample().flatten(1)
            total = total + world.reward(z)
        opt_a.zero_grad()
        (-(total + critic(z))).mean().backward()
        opt_a.step()
        world.requires_grad_(True)
        opt_c.zero_grad()
        F.mse_loss(critic(torch.cat(seen)), total.detach().repeat(2, 1)).backward()
        opt_c.step()


TRUTH = Truth()
