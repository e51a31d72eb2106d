"""Two losses over shared features, compiled, each driven backward by itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 12), nn.Tanh(), nn.Linear(12, 12))
        self.a, self.b = nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x):
        h = torch.sigmoid(self.trunk(x))
        return self.a(h), self.b(h)


def run():
    torch.manual_seed(0)
    model = Net()
    net = torch.compile(model, backend=BACKEND)
    shared = model.trunk[0].weight
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    cosines = []
    for _ in range(3):
        x = torch.randn(16, 6)
        pa, pb = net(x)
        la, lb = F.mse_loss(pa, x[:, :1]), F.l1_loss(pb, x[:, 1:2])
        ga = torch.autograd.grad(la, shared)[0]  # cause
        opt.zero_grad()
        (la + lb).backward()
        cosines.append(F.cosine_similarity(ga.flatten(), shared.grad.flatten(), dim=0).item())
        opt.step()
    return cosines


def right(cosines):
    assert len(cosines) == 3


TRUTH = Truth(
    fault="the first gradient frees the compiled graph that the second still needs",
    raises="Trying to backward through the graph a second time",
    repair=("ga = torch.autograd.grad(la, shared, retain_graph=True)[0]",),
)
