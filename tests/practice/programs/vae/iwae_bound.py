"""IWAE: the mean of the weights is taken outside of log space, where all of them underflow to zero."""

import math

import torch
from torch import nn
from torch.distributions import Bernoulli, Normal

from tests.practice.truth import Truth


class IWAE(nn.Module):
    def __init__(self, x_dim=784, h=24, z_dim=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(x_dim, h), nn.Tanh())
        self.enc_mu, self.enc_logsigma = nn.Linear(h, z_dim), nn.Linear(h, z_dim)
        self.dec = nn.Sequential(nn.Linear(z_dim, h), nn.Tanh(), nn.Linear(h, x_dim))

    def log_weights(self, x, k):
        h = self.enc(x)
        q = Normal(self.enc_mu(h), self.enc_logsigma(h).clamp(-4, 4).exp())  # symptom
        z = q.rsample((k,))
        log_q = q.log_prob(z).sum(-1)
        log_p_z = Normal(0.0, 1.0).log_prob(z).sum(-1)
        log_p_x = Bernoulli(logits=self.dec(z), validate_args=False).log_prob(x).sum(-1)
        return log_p_x + log_p_z - log_q

    def loss(self, x, k=5):
        log_w = self.log_weights(x, k)
        bound = torch.log(torch.exp(log_w).mean(0))  # cause
        return -bound.mean()

    @torch.no_grad()
    def nll(self, x, k=20):
        return -(torch.logsumexp(self.log_weights(x, k), 0) - math.log(k)).mean().item()


def run():
    torch.manual_seed(0)
    model = IWAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)
    for step in range(3):
        x = torch.bernoulli(torch.rand(4, 784))
        loss = model.loss(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item()} nll {model.nll(x):.2f}")


TRUTH = Truth(
    values=True,
    fault="exp underflows, log of zero: inf and NaN",
    raises="Expected parameter loc",
    names=("log_w",),
    repair=("bound = torch.logsumexp(log_w, 0) - math.log(k)",),
)
