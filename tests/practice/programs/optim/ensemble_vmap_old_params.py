"""Optimizers: the ensemble's loop became a vmap over stacked weights, but the optimizer kept the members' own."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap
from tests.practice.truth import Truth


@dataclass
class Config:
    members: int = 3
    obs_dim: int = 5
    act_dim: int = 2
    hidden: int = 16
    lr: float = 1e-2
    weight_decay: float = 1e-5
    epochs: int = 3
    batch_size: int = 16


class GaussianDynamics(nn.Module):
    """One member of a PETS ensemble: mean and log-variance of the next state's change."""

    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(cfg.obs_dim + cfg.act_dim, cfg.hidden)
        self.fc2 = nn.Linear(cfg.hidden, cfg.hidden)
        self.head = nn.Linear(cfg.hidden, 2 * cfg.obs_dim)
        self.max_logvar = nn.Parameter(torch.full((cfg.obs_dim,), 0.5))
        self.min_logvar = nn.Parameter(torch.full((cfg.obs_dim,), -5.0))

    def forward(self, x):
        h = F.silu(self.fc2(F.silu(self.fc1(x))))
        mean, logvar = self.head(h).chunk(2, -1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        return mean, self.min_logvar + F.softplus(logvar - self.min_logvar)


class StandardScaler:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0).clamp(min=1e-6)

    def __call__(self, x):
        return (x - self.mean) / self.std


class DynamicsEnsemble:
    def __init__(self, cfg):
        self.cfg = cfg
        self.models = [GaussianDynamics(cfg) for _ in range(cfg.members)]
        self.skeleton = GaussianDynamics(cfg).to("meta")
        self.params, self.buffers = stack_module_state(self.models)
        self.scaler = StandardScaler()

    def parameters(self):
        return [p for model in self.models for p in model.parameters()]  # cause

    def forward(self, x):
        def call(params, buffers, inputs):
            return functional_call(self.skeleton, (params, buffers), (inputs,))

        return vmap(call)(self.params, self.buffers, x)

    def loss(self, x, y):
        mean, logvar = self.forward(x)
        nll = ((mean - y).square() * torch.exp(-logvar) + logvar).mean(dim=(1, 2)).sum()
        return nll + 0.01 * (self.params["max_logvar"].sum() - self.params["min_logvar"].sum())


class Trainer:
    def __init__(self, cfg, ensemble):
        self.cfg, self.ensemble = cfg, ensemble
        self.optimizer = torch.optim.AdamW(ensemble.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)

    def bootstrap(self, n):
        return torch.randint(n, (self.cfg.members, n))

    def train(self, x, y):
        self.ensemble.scaler.fit(x)
        rows = self.bootstrap(len(x))
        for _ in range(self.cfg.epochs):
            for chunk in rows.split(self.cfg.batch_size, dim=1):
                loss = self.ensemble.loss(self.ensemble.scaler(x)[chunk], y[chunk])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        return self.evaluate(x, y)

    @torch.no_grad()
    def evaluate(self, x, y):
        inputs = self.ensemble.scaler(x).expand(self.cfg.members, -1, -1)
        return (self.ensemble.forward(inputs)[0] - y).square().mean((1, 2))


def run():
    torch.manual_seed(0)
    cfg = Config()
    ensemble = DynamicsEnsemble(cfg)
    before = {n: p.detach().clone() for n, p in ensemble.params.items()}
    x = torch.randn(48, cfg.obs_dim + cfg.act_dim)
    y = torch.tanh(x[:, : cfg.obs_dim]) * 0.3 + 0.1 * x[:, -1:]
    Trainer(cfg, ensemble).train(x, y)
    return before, ensemble.params


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth(
    fault="the stacked tensors are new leaves; the optimizer holds the members' parameters, which get no gradients any more",
    names=("parameters",),
    repair=("return list(self.params.values())",),
)
