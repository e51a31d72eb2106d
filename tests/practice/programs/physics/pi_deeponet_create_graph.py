"""Neural operators: create_graph was dropped to save memory, so the physics loss teaches nothing."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class Config:
    sensors: int = 10
    latent: int = 16
    hidden: int = 24
    functions: int = 6
    points: int = 12
    lr: float = 1e-3
    iterations: int = 3
    w_bc: float = 1.0
    w_res: float = 1.0


class MLP(nn.Module):
    def __init__(self, sizes, act=nn.Tanh):
        super().__init__()
        layers = []
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            layers.append(nn.Linear(a, b))
            if i < len(sizes) - 2:
                layers.append(act())
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class DeepONet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.branch = MLP([cfg.sensors, cfg.hidden, cfg.latent])
        self.trunk = MLP([1, cfg.hidden, cfg.hidden, cfg.latent])
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, u, y):
        return (self.branch(u) * self.trunk(y)).sum(-1, keepdim=True) + self.b


class AntiderivativeData:
    """du/dy = f(y), u(0) = 0, for random trigonometric f."""

    def __init__(self, cfg):
        self.cfg = cfg
        self.sensors = torch.linspace(0, 1, cfg.sensors)

    def f(self, coef, y):
        return coef[:, :1] * torch.sin(3 * y) + coef[:, 1:] * torch.cos(2 * y)

    def batch(self):
        coef = torch.randn(self.cfg.functions, 2)
        y = torch.rand(self.cfg.functions, self.cfg.points)
        u = self.f(coef, self.sensors[None])
        n = self.cfg.points
        return u.repeat_interleave(n, 0), y.reshape(-1, 1), self.f(coef, y).reshape(-1, 1)


class PhysicsInformedTrainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.99)
        self.log = {"bc": [], "res": [], "grad": []}

    def loss_bcs(self, u):
        return self.model(u, torch.zeros(len(u), 1)).pow(2).mean()

    def residual_net(self, u, y):
        s = self.model(u, y)
        return torch.autograd.grad(s, y, torch.ones_like(s), retain_graph=True)[0]  # cause

    def loss_res(self, u, y, f):
        y = y.clone().requires_grad_(True)
        return (self.residual_net(u, y) - f).pow(2).mean()

    def gradient_of(self, loss):
        params = list(self.model.parameters())
        if not loss.requires_grad:
            return 0.0
        grads = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
        return sum(g.abs().sum().item() for g in grads if g is not None)

    def step(self, u, y, f):
        bc, res = self.loss_bcs(u), self.loss_res(u, y, f)
        self.log["grad"].append(self.gradient_of(res))
        loss = self.cfg.w_bc * bc + self.cfg.w_res * res
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.log["bc"].append(bc.item())
        self.log["res"].append(res.item())

    def train(self, data):
        for _ in range(self.cfg.iterations):
            self.step(*data.batch())
        return self.log


def run():
    torch.manual_seed(0)
    cfg = Config()
    trainer = PhysicsInformedTrainer(cfg, DeepONet(cfg))
    return trainer.train(AntiderivativeData(cfg))


def verify(log):
    assert log["grad"] == [0.0, 0.0, 0.0] and min(log["res"]) > 0


TRUTH = Truth(
    fault="without create_graph=True the derivative ds/dy is a constant: the residual loss has no gradient at all",
    names=("create_graph",),
    repair=("return torch.autograd.grad(s, y, torch.ones_like(s), create_graph=True)[0]",),
)
