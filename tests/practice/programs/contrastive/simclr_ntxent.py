"""SimCLR: the diagonal of exp(sim) is zeroed in place, and exp needs its result for its gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SimCLR(nn.Module):
    def __init__(self, feature_dim=16, out_dim=8):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.g = nn.Sequential(nn.Linear(32, feature_dim), nn.ReLU(inplace=True), nn.Linear(feature_dim, out_dim))

    def forward(self, x):
        h = self.f(x).flatten(1)
        return h, F.normalize(self.g(h), dim=1)


def nt_xent(z1, z2, temperature=0.5):
    out = torch.cat([z1, z2])
    sim = torch.exp(out @ out.t() / temperature)  # also
    sim.fill_diagonal_(0)  # cause
    pos = torch.exp((z1 * z2).sum(-1) / temperature).repeat(2)
    return -torch.log(pos / sim.sum(-1)).mean()


def augment(x):
    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(-1), x)
    return x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1)) + 0.05 * torch.randn_like(x)


@torch.no_grad()
def knn_accuracy(model, x, y):
    model.eval()
    h = F.normalize(model(x)[0], dim=1)
    sim = (h @ h.t()).fill_diagonal_(-1)
    model.train()
    return (y[sim.argmax(1)] == y).float().mean().item()


def run():
    torch.manual_seed(0)
    model = SimCLR()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    data, labels = torch.randn(8, 3, 6, 6), torch.arange(8) % 2
    for epoch in range(2):
        for x in data.split(4):
            _, z1 = model(augment(x))
            _, z2 = model(augment(x))
            loss = nt_xent(z1, z2)
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} knn {knn_accuracy(model, data, labels):.2f}")


TRUTH = Truth(
    fault="in-place change of the result of exp",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("fill_diagonal_",),
    repair=("sim = sim * (1 - torch.eye(len(sim)))",),
)
