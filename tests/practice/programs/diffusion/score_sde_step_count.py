"""Diffusion: the step counter went into the logging branch, so the warm-up holds the rate at zero."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class OptimConfig:
    lr: float = 1e-2
    warmup: int = 2
    grad_clip: float = 1.0


@dataclass
class TrainConfig:
    n_iters: int = 4
    log_freq: int = 50
    batch_size: int = 16


class VESDE:
    def __init__(self, sigma_min=0.01, sigma_max=10.0):
        self.sigma_min, self.sigma_max = sigma_min, sigma_max

    def marginal_prob(self, x, t):
        std = self.sigma_min * (self.sigma_max / self.sigma_min) ** t
        return x, std


class GaussianFourierProjection(nn.Module):
    def __init__(self, embedding_size, scale=16.0):
        super().__init__()
        self.W = nn.Parameter(torch.randn(embedding_size) * scale, requires_grad=False)

    def forward(self, t):
        proj = t[:, None] * self.W[None] * 2 * math.pi
        return torch.cat([proj.sin(), proj.cos()], dim=-1)


class ScoreNet(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.embed = GaussianFourierProjection(8)
        self.fc1 = nn.Linear(dim + 16, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = torch.cat([x, self.embed(torch.log(t))], dim=1)
        h = nn.functional.silu(self.fc1(h))
        return self.out(nn.functional.silu(self.fc2(h)))


def get_sde_loss_fn(sde, eps=1e-5):
    def loss_fn(model, batch):
        t = torch.rand(len(batch)) * (1.0 - eps) + eps
        z = torch.randn_like(batch)
        mean, std = sde.marginal_prob(batch, t)
        score = model(mean + std[:, None] * z, std) / std[:, None]
        return (score * std[:, None] + z).square().sum(dim=1).mean()

    return loss_fn


def optimization_manager(config):
    def optimize_fn(optimizer, params, step, lr=config.lr, warmup=config.warmup, grad_clip=config.grad_clip):
        if warmup > 0:
            for g in optimizer.param_groups:
                g["lr"] = lr * min(step / warmup, 1.0)  # also
        if grad_clip >= 0:
            torch.nn.utils.clip_grad_norm_(params, max_norm=grad_clip)
        optimizer.step()

    return optimize_fn


def get_step_fn(sde, optimize_fn, cfg, log):
    loss_fn = get_sde_loss_fn(sde)

    def step_fn(state, batch, i):
        model, optimizer = state["model"], state["optimizer"]
        optimizer.zero_grad()
        loss = loss_fn(model, batch)
        loss.backward()
        optimize_fn(optimizer, model.parameters(), step=state["step"])
        if (i + 1) % cfg.log_freq == 0:  # cause
            log.append((state["step"], loss.item()))
            state["step"] += cfg.log_freq  # also
        return loss.detach()

    return step_fn


def run():
    torch.manual_seed(42)
    cfg = TrainConfig()
    model = ScoreNet()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=OptimConfig.lr)
    state = dict(optimizer=optimizer, model=model, step=0)
    log = []
    step_fn = get_step_fn(VESDE(), optimization_manager(OptimConfig()), cfg, log)
    before = [p.detach().clone() for p in trainable]
    for i in range(cfg.n_iters):
        batch = torch.randn(cfg.batch_size, 2) * 0.3 + 1
        step_fn(state, batch, i)
    return before, [p.detach() for p in trainable]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="state['step'] stays 0 until the first log: the warm-up sets lr to 0 and no step moves anything",
    names=("lr",),
    repair=('state["step"] += 1\nif False:',),
)
