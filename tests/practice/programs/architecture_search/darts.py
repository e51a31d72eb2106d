"""First-order DARTS on a tiny cell."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class MixedOp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ops = nn.ModuleList(
            [
                nn.Identity(),
                nn.Sequential(nn.Linear(dim, dim), nn.ReLU()),
                nn.Sequential(nn.Linear(dim, dim), nn.Tanh()),
            ]
        )

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class SearchNet(nn.Module):
    def __init__(self, dim=8, edges=3, classes=3):
        super().__init__()
        self.cells = nn.ModuleList(MixedOp(dim) for _ in range(edges))
        self.arch = nn.Parameter(1e-3 * torch.randn(edges, 3))
        self.classifier = nn.Linear(dim, classes)

    def arch_parameters(self):
        return [self.arch]

    def forward(self, x):
        for cell, w in zip(self.cells, self.arch.softmax(-1)):
            x = cell(x, w)
        return self.classifier(x)


class Architect:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.arch_parameters(), lr=lr, betas=(0.5, 0.999), weight_decay=1e-3)

    def step(self, x, y):
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


def search(model, batches):
    w_opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=3e-4)  # cause
    architect = Architect(model)
    moved = []
    for (xt, yt), (xv, yv) in batches:
        architect.step(xv, yv)
        arch = model.arch.detach().clone()
        w_opt.zero_grad()
        loss = F.cross_entropy(model(xt), yt)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        w_opt.step()
        moved.append((model.arch.detach() - arch).abs().max().item())
    return moved


def run():
    torch.manual_seed(0)
    model = SearchNet()
    data = lambda: (torch.randn(12, 8), torch.randint(0, 3, (12,)))
    return search(model, [(data(), data()) for _ in range(4)])


TRUTH = Truth(
    fault="the weight optimizer also holds and trains the architecture parameters on the training split",
    names=("arch",),
    repair=(
        "weights = [p for n, p in model.named_parameters() if n != 'arch']\nw_opt = torch.optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=3e-4)",
    ),
)


def well(out):
    assert max(out) == 0.0


verify = fails(well)
