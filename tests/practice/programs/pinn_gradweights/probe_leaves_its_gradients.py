"""PINN with learning-rate annealing (Wang et al.): the weights' probe calls backward and leaves its gradients in .grad."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


class AdaptiveWeights:
    """Balance boundary and residual terms by the size of their gradients."""

    def __init__(self, model, alpha=0.9, every=2):
        self.model, self.alpha, self.every = model, alpha, every
        self.weights = {"bc": 1.0}

    def grad_stats(self, loss):
        loss.backward(retain_graph=True)  # cause
        grads = torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None])
        return grads.abs().max().item(), grads.abs().mean().item()

    def update(self, step, losses):
        if step % self.every:
            return
        largest, _ = self.grad_stats(losses["res"])
        _, mean = self.grad_stats(losses["bc"])
        proposal = largest / (mean + 1e-8)
        self.weights["bc"] = self.alpha * self.weights["bc"] + (1 - self.alpha) * proposal


def helmholtz(model, x, k=2.0):
    x = x.requires_grad_(True)
    u = model(x)
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
    return u_xx + k**2 * u


class Trainer:
    def __init__(self):
        self.model = PINN()
        self.balance = AdaptiveWeights(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def step(self, i):
        xb = torch.tensor([[0.0], [1.0]])
        losses = {
            "res": helmholtz(self.model, torch.rand(32, 1)).pow(2).mean(),
            "bc": (self.model(xb) - xb).pow(2).mean(),
        }
        self.optimizer.zero_grad()
        self.balance.update(i, losses)
        loss = losses["res"] + self.balance.weights["bc"] * losses["bc"]
        wanted = torch.autograd.grad(loss, self.model.net[0].weight, retain_graph=True)[0]
        loss.backward()
        got = self.model.net[0].weight.grad.clone()
        self.optimizer.step()
        return torch.allclose(wanted, got, rtol=1e-4, atol=1e-7)


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    return [trainer.step(i) for i in range(4)]


def verify(outcome):
    assert outcome == [False, True, False, True]


TRUTH = Truth(
    fault="the probe for the loss weights adds its own gradients to .grad after zero_grad: at those steps both terms are counted again",
    names=("grad_stats", "backward"),
    repair=(
        "probe = torch.autograd.grad(loss, list(self.model.parameters()), retain_graph=True, allow_unused=True)\nreturn (lambda g: (g.abs().max().item(), g.abs().mean().item()))(torch.cat([x.flatten() for x in probe if x is not None]))",
    ),
)
