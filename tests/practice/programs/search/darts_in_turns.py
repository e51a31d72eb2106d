"""DARTS in turns: two disjoint optimizers, both cleared before each turn, and the finite difference of second order."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MixedOp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ops = nn.ModuleList([nn.Identity(), nn.Linear(dim, dim), nn.Sequential(nn.ReLU(), nn.Linear(dim, dim))])

    def forward(self, x, weights):
        return sum(weight * op(x) for weight, op in zip(weights, self.ops))


class Network(nn.Module):
    def __init__(self, dim=6, edges=2, classes=3):
        super().__init__()
        self.edges = nn.ModuleList(MixedOp(dim) for _ in range(edges))
        self.head = nn.Linear(dim, classes)
        self.alphas = nn.Parameter(1e-3 * torch.randn(edges, 3))

    def forward(self, x):
        for edge, alpha in zip(self.edges, self.alphas.softmax(-1)):
            x = edge(x, alpha)
        return self.head(x)

    def weights(self):
        return [p for name, p in self.named_parameters() if name != "alphas"]


def implicit(model, vector, x, y, radius=1e-2):
    """The mixed second derivative times a vector, by two perturbed passes."""
    radius = radius / torch.cat([v.flatten() for v in vector]).norm().item()
    slopes = []
    for sign in (1, -2):
        with torch.no_grad():
            for p, v in zip(model.weights(), vector):
                p.add_(v, alpha=sign * radius)
        slopes.append(torch.autograd.grad(F.cross_entropy(model(x), y), model.alphas)[0])
    with torch.no_grad():
        for p, v in zip(model.weights(), vector):
            p.add_(v, alpha=radius)
    return (slopes[0] - slopes[1]) / (2 * radius)


def run():
    torch.manual_seed(0)
    model = Network()
    opt_w = torch.optim.SGD(model.weights(), lr=0.05, momentum=0.9, weight_decay=3e-4)
    opt_a = torch.optim.Adam([model.alphas], lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-3)
    for _ in range(3):
        x, y, x_val, y_val = torch.randn(12, 6), torch.randint(3, (12,)), torch.randn(12, 6), torch.randint(3, (12,))
        opt_a.zero_grad()
        opt_w.zero_grad()
        F.cross_entropy(model(x_val), y_val).backward()
        vector = [p.grad.clone() for p in model.weights()]
        model.alphas.grad.sub_(0.05 * implicit(model, vector, x, y))
        opt_a.step()
        opt_w.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.weights(), 5.0)
        opt_w.step()
    return model.alphas.softmax(-1).argmax(-1).tolist()


TRUTH = Truth()
