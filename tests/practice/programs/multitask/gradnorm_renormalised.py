"""GradNorm: the norms keep their graph for the tasks' weights only, whose gradient replaces the one from the loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Shared(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
        self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(tasks))
        self.weights = nn.Parameter(torch.ones(tasks))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]

    def last_shared(self):
        return self.trunk[-1].weight


def run():
    torch.manual_seed(0)
    model = Shared(3)
    scales = torch.tensor([1.0, 5.0, 20.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    initial, log = None, []
    for step in range(3):
        x = torch.randn(16, 6)
        outs = model(x)
        task_loss = torch.stack(
            [(o.squeeze(1) - s * x[:, i]).pow(2).mean() for i, (o, s) in enumerate(zip(outs, scales))]
        )
        weighted = model.weights * task_loss
        if step == 0:
            initial = task_loss.data.numpy().copy()
        optimizer.zero_grad()
        weighted.sum().backward(retain_graph=True)
        model.weights.grad.data = model.weights.grad.data * 0.0

        norms = []
        for i in range(3):
            gygw = torch.autograd.grad(task_loss[i], model.last_shared(), retain_graph=True)
            norms.append(torch.norm(torch.mul(model.weights[i], gygw[0])))
        norms = torch.stack(norms)
        loss_ratio = task_loss.data.numpy() / initial
        inverse = loss_ratio / loss_ratio.mean()
        mean_norm = norms.data.numpy().mean()
        constant = torch.tensor(mean_norm * inverse**0.12, requires_grad=False)
        grad_norm_loss = torch.sum(torch.abs(norms - constant))
        model.weights.grad = torch.autograd.grad(grad_norm_loss, model.weights)[0]
        optimizer.step()
        normalize = 3 / torch.sum(model.weights.data, dim=0)
        model.weights.data = model.weights.data * normalize
        log.append((model.weights.tolist(), grad_norm_loss.item()))
    return model, log


TRUTH = Truth()


def verify(out):
    model, log = out
    weights = log[-1][0]
    assert abs(sum(weights) - 3) < 1e-3 and weights[0] > weights[2]
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
