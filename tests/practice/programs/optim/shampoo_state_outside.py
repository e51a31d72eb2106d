"""Optimizers: Shampoo's preconditioners live in a dict of their own, which a checkpoint does not hold."""

import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    lr: float = 0.05
    momentum: float = 0.5
    epsilon: float = 1e-4
    update_freq: int = 1
    steps_before: int = 3
    steps_after: int = 2


def matrix_power(matrix, power):
    values, vectors = torch.linalg.eigh(matrix)
    return vectors @ torch.diag(values.clamp(min=1e-12).pow(power)) @ vectors.T


class Shampoo(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-1, momentum=0.0, epsilon=1e-4, update_freq=1):
        super().__init__(params, dict(lr=lr, momentum=momentum, epsilon=epsilon, update_freq=update_freq))
        self.preconditioners = {}

    def preconditioner(self, p, dim, epsilon):
        cache = self.preconditioners.setdefault(p, {})  # cause
        if f"precond_{dim}" not in cache:
            n = p.size(dim)
            cache[f"precond_{dim}"] = epsilon * torch.eye(n)
            cache[f"inv_precond_{dim}"] = torch.zeros(n, n)
        return cache

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad.clone(), self.state[p]
                state["step"] = state.get("step", 0) + 1
                if group["momentum"] > 0:
                    buf = state.setdefault("momentum_buffer", grad.clone())
                    buf.lerp_(grad, 1 - group["momentum"])
                    grad = buf.clone()
                order = grad.ndim
                for dim in range(order):
                    cache = self.preconditioner(p, dim, group["epsilon"])
                    grad = grad.transpose(0, dim).contiguous()
                    shape = grad.size()
                    flat = grad.view(shape[0], -1)
                    cache[f"precond_{dim}"].add_(flat @ flat.T)
                    if state["step"] % group["update_freq"] == 0:
                        cache[f"inv_precond_{dim}"].copy_(matrix_power(cache[f"precond_{dim}"], -1 / order))
                    grad = (cache[f"inv_precond_{dim}"] @ flat).view(shape).transpose(0, dim)
                p.add_(grad, alpha=-group["lr"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 10), nn.Linear(10, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = Net()
        self.optimizer = Shampoo(
            self.model.parameters(), lr=cfg.lr, momentum=cfg.momentum, epsilon=cfg.epsilon, update_freq=cfg.update_freq
        )

    def train(self, batches):
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def save(self):
        return copy.deepcopy({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()})

    def resume(self, checkpoint):
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])


def run():
    torch.manual_seed(0)
    cfg = Config()
    batches = [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(cfg.steps_before + cfg.steps_after)]
    first = Trainer(cfg)
    first.train(batches[: cfg.steps_before])
    checkpoint = first.save()
    resumed = Trainer(cfg)
    resumed.resume(checkpoint)
    first.train(batches[cfg.steps_before :])
    resumed.train(batches[cfg.steps_before :])
    pairs = zip(first.model.parameters(), resumed.model.parameters())
    return max((a - b).abs().max().item() for a, b in pairs)


def verify(difference):
    assert difference > 1e-3


TRUTH = Truth(
    fault="the preconditioners are not in optimizer.state, so they are missing in state_dict(): a resumed run starts them anew",
    names=("preconditioners",),
    repair=("cache = self.state[p]",),
)
