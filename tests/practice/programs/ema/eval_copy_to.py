"""EMA: the evaluation in the middle copies the average over the weights and nothing brings them back."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    lr: float = 5e-3
    ema_decay: float = 0.9
    eval_freq: int = 2
    n_iters: int = 5
    latent: int = 4


class ExponentialMovingAverage:
    def __init__(self, parameters, decay, use_num_updates=True):
        self.decay = decay
        self.num_updates = 0 if use_num_updates else None
        self.shadow_params = [p.clone().detach() for p in parameters if p.requires_grad]
        self.collected_params = []

    def update(self, parameters):
        decay = self.decay
        if self.num_updates is not None:
            self.num_updates += 1
            decay = min(decay, (1 + self.num_updates) / (10 + self.num_updates))
        with torch.no_grad():
            for s, p in zip(self.shadow_params, [p for p in parameters if p.requires_grad]):
                s.sub_((1.0 - decay) * (s - p))

    def copy_to(self, parameters):
        for s, p in zip(self.shadow_params, [p for p in parameters if p.requires_grad]):
            p.data.copy_(s.data)

    def store(self, parameters):
        self.collected_params = [p.clone() for p in parameters]

    def restore(self, parameters):
        for c, p in zip(self.collected_params, parameters):
            p.data.copy_(c.data)


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, 12))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo(model, x):
    rec, mu, logvar = model(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return F.mse_loss(rec, x, reduction="none").sum(1).mean() + 0.1 * kl


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = VAE(cfg.latent)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.ema = ExponentialMovingAverage(self.model.parameters(), cfg.ema_decay)
        self.eval_losses, self.jumps = [], []

    @torch.no_grad()
    def evaluate(self, x):
        self.model.eval()
        self.ema.copy_to(self.model.parameters())  # cause
        loss = elbo(self.model, x).item()
        self.ema.restore(self.model.parameters())
        self.model.train()
        return loss

    def train_step(self, x):
        loss = elbo(self.model, x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.ema.update(self.model.parameters())

    def train(self, data, held_out):
        self.model.train()
        for it in range(1, self.cfg.n_iters + 1):
            self.train_step(data[torch.randint(len(data), (16,))])
            if it % self.cfg.eval_freq == 0:
                before = [p.detach().clone() for p in self.model.parameters()]
                self.eval_losses.append(self.evaluate(held_out))
                after = list(self.model.parameters())
                self.jumps.append(max((b - a).abs().max().item() for b, a in zip(before, after)))
        return self.jumps


def run():
    torch.manual_seed(0)
    base = torch.randn(3, 12)
    data = torch.randn(96, 3) @ base
    return Runner(Config()).train(data[:80], data[80:])


def verify(jumps):
    assert len(jumps) == 2 and min(jumps) > 1e-4


TRUTH = Truth(
    fault="restore() without store() puts nothing back: after the evaluation the training goes on from the averaged weights",
    names=("copy_",),
    repair=("self.ema.store(self.model.parameters()); self.ema.copy_to(self.model.parameters())",),
)
