"""Uncertainty weighting: the criterion's log-variances are parameters of the criterion, and no optimizer has them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class UncertaintyLoss(nn.Module):
    """Kendall, Gal & Cipolla (2018): learnt weights of several losses."""

    def __init__(self, names):
        super().__init__()
        self.log_var = nn.ParameterDict({n: torch.zeros(()) for n in names})

    def forward(self, losses):
        return sum((-self.log_var[n]).exp() * loss + self.log_var[n] for n, loss in losses.items())


class PlanktonNet(nn.Module):
    """Size, depth and taxon of plankton in a picture's embedding."""

    def __init__(self, dim=10):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, 24), nn.SiLU())
        self.size = nn.Linear(24, 1)
        self.depth = nn.Linear(24, 1)
        self.taxon = nn.Linear(24, 3)

    def losses(self, x, size, depth, taxon):
        h = self.trunk(x)
        return {
            "size": F.mse_loss(self.size(h).squeeze(-1), size),
            "depth": F.l1_loss(self.depth(h).squeeze(-1), depth),
            "taxon": F.cross_entropy(self.taxon(h), taxon),
        }


def net_haul(n):
    x = torch.randn(n, 10)
    return x, x[:, 0] * 10, 100 * x[:, 1].exp(), x[:, :3].argmax(1)


def configure(model, criterion):
    decay, plain = [], []
    for name, p in model.named_parameters():  # cause
        (plain if p.ndim < 2 else decay).append(p)
    return torch.optim.AdamW([{"params": decay}, {"params": plain, "weight_decay": 0.0}], lr=1e-2)  # also


def run():
    torch.manual_seed(0)
    model = PlanktonNet()
    criterion = UncertaintyLoss(("size", "depth", "taxon"))
    optimizer = configure(model, criterion)
    haul = net_haul(48)
    for _ in range(4):
        loss = criterion(model.losses(*haul))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: (p.item(), p.grad.item()) for n, p in criterion.log_var.items()}


def verify(outcome):
    assert all(value == 0.0 and grad != 0.0 for value, grad in outcome.values())


TRUTH = Truth(
    fault="log_var has gradients, but is in no optimizer: the weights stay one",
    names=("log_var",),
    repair=("for name, p in [*model.named_parameters(), *criterion.named_parameters()]:",),
)
