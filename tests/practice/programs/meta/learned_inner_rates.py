"""MAML with learned rates for each layer and step, a first-order phase, and losses of all inner steps."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class Learner(nn.Module):
    def __init__(self, steps=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        self.names = [name for name, _ in self.net.named_parameters()]
        self.rates = nn.Parameter(torch.full((steps, len(self.names)), 0.05))
        self.steps = steps

    def adapted(self, x, y, second_order):
        weights = dict(self.net.named_parameters())
        for step in range(self.steps):
            loss = F.mse_loss(functional_call(self.net, weights, x), y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=second_order)
            if not second_order:
                grads = [grad.detach() for grad in grads]
            weights = {
                name: weights[name] - rate * grad for name, rate, grad in zip(self.names, self.rates[step], grads)
            }
            yield weights


def run():
    torch.manual_seed(0)
    learner = Learner()
    outer = torch.optim.Adam(learner.parameters(), lr=1e-3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(outer, 4)
    importance = torch.tensor([0.3, 0.7])
    for iteration in range(4):
        outer.zero_grad()
        losses = []
        for _ in range(3):
            x = torch.rand(20, 1) * 6 - 3
            y = (torch.rand(1) + 0.5) * torch.sin(x)
            steps = learner.adapted(x[:10], y[:10], second_order=iteration >= 2)
            queries = [F.mse_loss(functional_call(learner.net, w, x[10:]), y[10:]) for w in steps]
            task = (importance * torch.stack(queries)).sum()
            (task / 3).backward()
            losses.append(task.item())
        for p in learner.parameters():
            if p.grad is not None:
                p.grad.clamp_(-10, 10)
        outer.step()
        cosine.step()
        with torch.no_grad():
            learner.rates.clamp_(min=1e-4)
        print(f"{iteration}: {sum(losses) / 3:.3f}")


TRUTH = Truth()
