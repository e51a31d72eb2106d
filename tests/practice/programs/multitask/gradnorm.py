"""GradNorm: the renormalised task weights are a new Parameter, which the optimizer has never heard of."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MultiTaskNet(nn.Module):
    def __init__(self, width=8, hidden=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(width, hidden), nn.ReLU())
        self.shared = nn.Linear(hidden, hidden)
        self.depth, self.label = nn.Linear(hidden, 1), nn.Linear(hidden, 3)

    def forward(self, x):
        h = F.relu(self.shared(self.trunk(x)))
        return self.depth(h).squeeze(-1), self.label(h)


class GradNorm:
    def __init__(self, n_tasks, shared, alpha=1.5, lr=2e-2):
        self.weights = nn.Parameter(torch.ones(n_tasks))
        self.shared, self.alpha, self.n = shared, alpha, n_tasks
        self.optimizer = torch.optim.Adam([self.weights], lr=lr)
        self.initial = None

    def update(self, task_losses):
        losses = torch.stack(task_losses)
        if self.initial is None:
            self.initial = losses.detach()
        norms = []
        for w, loss in zip(self.weights, task_losses):
            (g,) = torch.autograd.grad(loss, self.shared, retain_graph=True)
            norms.append(w * g.norm().detach())
        norms = torch.stack(norms)
        ratio = losses.detach() / self.initial
        target = (norms.mean() * (ratio / ratio.mean()) ** self.alpha).detach()
        self.optimizer.zero_grad()
        (norms - target).abs().sum().backward()
        self.optimizer.step()
        self.renormalise()

    def renormalise(self):
        scale = self.n / self.weights.detach().sum()
        self.weights = nn.Parameter(self.weights.detach() * scale)  # cause

    def combine(self, task_losses):
        return sum(w * loss for w, loss in zip(self.weights.detach(), task_losses))


def sample(n=32):
    x = torch.randn(n, 8)
    return x, 20 * x[:, 0] * x[:, 1], (x[:, 2] > 0).long() + (x[:, 3] > 0).long()


def run():
    torch.manual_seed(0)
    model = MultiTaskNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    balancer = GradNorm(2, model.shared.weight)
    trace = []
    for _ in range(4):
        x, depth, label = sample()
        pred_depth, logits = model(x)
        task_losses = [F.mse_loss(pred_depth, depth), F.cross_entropy(logits, label)]
        total = balancer.combine(task_losses)
        optimizer.zero_grad()
        total.backward(retain_graph=True)
        balancer.update(task_losses)
        optimizer.step()
        trace.append(balancer.weights.detach().clone())
    return trace


def verify(trace):
    assert not torch.equal(trace[0], torch.ones(2))
    assert all(torch.allclose(trace[0], later) for later in trace[1:])


TRUTH = Truth(
    fault="weights is bound to a new Parameter; after the first step the optimizer moves one that nobody reads",
    names=("weights",),
    repair=("self.weights.data.mul_(scale)",),
)
