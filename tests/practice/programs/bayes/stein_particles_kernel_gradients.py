"""SVGD: particles are rows of one leaf, the driving direction is written to .grad; scores are cut off, the kernel gradient comes from autograd."""

import math
import torch
from torch import nn
from tests.practice.truth import Truth


class Posterior:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def log_prob(self, theta):
        logits = theta[:, :-1] @ self.x.T + theta[:, -1:]
        like = -nn.functional.softplus(-logits * self.y).sum(1)
        return like - 0.5 * theta.square().sum(1)


def rbf(a, b):
    d2 = (a[:, None] - b[None]).square().sum(-1)
    h = d2.detach().flatten().median() / math.log(len(a) + 1)
    return torch.exp(-d2 / (2 * h)), h


class SVGD:
    def __init__(self, target, particles, lr):
        self.target = target
        self.particles = particles.clone().requires_grad_()
        self.opt = torch.optim.Adagrad([self.particles], lr=lr)

    def phi(self, theta):
        theta = theta.detach().requires_grad_()
        (score,) = torch.autograd.grad(self.target.log_prob(theta).sum(), theta)
        k, _ = rbf(theta, theta.detach())
        (repulse,) = torch.autograd.grad(k.sum(), theta)
        return (k.detach() @ score - repulse) / len(theta)  # minus: gradient in the first argument, symmetric kernel

    def step(self):
        self.opt.zero_grad()
        self.particles.grad = self.phi(self.particles).neg_()
        self.opt.step()


def run():
    torch.manual_seed(0)
    x = torch.randn(20, 2, dtype=torch.double)
    y = torch.sign(x[:, 0] - 0.5 * x[:, 1])
    svgd = SVGD(Posterior(x, y), torch.randn(7, 3, dtype=torch.double), 0.1)
    log = []
    for _ in range(4):
        before = svgd.particles.detach().clone()
        svgd.step()
        log.append((before, svgd.particles.grad.clone()))
    return x, y, svgd.particles.detach().clone(), log


def verify(outcome):
    x, y, final, log = outcome
    squares = torch.zeros_like(final)
    for i, (theta, grad) in enumerate(log):
        n = len(theta)
        margin = y * (theta[:, :2] @ x.T + theta[:, 2:])
        pull = y * torch.sigmoid(-margin)
        score = torch.cat([pull @ x, pull.sum(1, keepdim=True)], 1) - theta
        d2 = torch.cdist(theta, theta).square()
        h = d2.flatten().median() / math.log(n + 1)
        phi = torch.zeros_like(theta)
        for a in range(n):
            for b in range(n):
                k = torch.exp(-d2[a, b] / (2 * h))
                phi[a] += (k * score[b] + k * (theta[a] - theta[b]) / h) / n
        assert torch.allclose(-phi, grad, atol=1e-8)
        squares += grad**2
        after = log[i + 1][0] if i + 1 < len(log) else final
        assert torch.allclose(after, theta - 0.1 * grad / (squares.sqrt() + 1e-10), atol=1e-8)
    assert not (final == log[0][0]).any()


TRUTH = Truth()
