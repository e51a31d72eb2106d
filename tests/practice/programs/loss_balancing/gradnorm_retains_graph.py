"""GradNorm for a food app: retain_graph, a second backward into the task weights only, .grad of the weights overwritten. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MealNet(nn.Module):
    """Calories and portion size of a meal."""

    def __init__(self, features=10):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 20), nn.ReLU(), nn.Linear(20, 12))
        self.calories = nn.Linear(12, 1)
        self.portion = nn.Linear(12, 1)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return torch.cat([self.calories(h), self.portion(h)], 1)


class GradNorm:
    def __init__(self, model, tasks, alpha=1.0, lr=0.02):
        self.shared = model.trunk[2].weight
        self.weights = nn.Parameter(torch.ones(tasks))
        self.optimizer = torch.optim.Adam([self.weights], lr=lr)
        self.alpha, self.first = alpha, None

    def update(self, losses):
        if self.first is None:
            self.first = losses.detach()
        norms = torch.stack([
            torch.autograd.grad(w * loss, self.shared, retain_graph=True, create_graph=True)[0].norm()
            for w, loss in zip(self.weights, losses)
        ])
        rate = losses.detach() / self.first
        goal = (norms.mean() * (rate / rate.mean()) ** self.alpha).detach()
        (self.weights.grad,) = torch.autograd.grad((norms - goal).abs().sum(), self.weights, retain_graph=True)
        self.optimizer.step()

    @torch.no_grad()
    def renormalize(self):
        self.weights.mul_(len(self.weights) / self.weights.sum())


def meals(n):
    x = torch.randn(n, 10)
    return x, torch.stack([6 * x[:, 0], 0.3 * x[:, 1]], 1)


def run():
    torch.manual_seed(0)
    model = MealNet()
    balance = GradNorm(model, tasks=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, y = meals(48)
    start = [p.detach().clone() for p in model.parameters()]
    history = []
    for _ in range(4):
        losses = F.mse_loss(model(x), y, reduction="none").mean(0)
        optimizer.zero_grad()
        (balance.weights.detach() * losses).sum().backward(retain_graph=True)
        balance.update(losses)
        optimizer.step()
        balance.renormalize()
        history.append(losses.sum().item())
    return start, list(model.parameters()), balance.weights.detach(), history


def verify(outcome):
    start, now, weights, history = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert weights[0] < 1 < weights[1]
    assert history[-1] < history[0]


TRUTH = Truth()
