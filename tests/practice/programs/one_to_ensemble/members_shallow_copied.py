"""One model to an ensemble: members are made with copy.copy(), which shares the parameters; five optimizers push one network."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class UncertaintyNet(nn.Module):
    def __init__(self, features=5):
        super().__init__()
        self.hidden = nn.Linear(features, 12)
        self.mean = nn.Linear(12, 1)
        self.log_var = nn.Linear(12, 1)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        return self.mean(h).squeeze(-1), self.log_var(h).squeeze(-1)

    def reset(self):
        for layer in (self.hidden, self.mean, self.log_var):
            layer.reset_parameters()
        return self


class DeepEnsemble:
    def __init__(self, prototype, size=3):
        self.members = [copy.copy(prototype).reset() for _ in range(size)]  # cause
        self.optimizers = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in self.members]

    def fit_batch(self, x, y):
        for member, optimizer in zip(self.members, self.optimizers, strict=True):
            pick = torch.randint(0, len(x), (len(x),))
            mean, log_var = member(x[pick])
            loss = F.gaussian_nll_loss(mean, y[pick], log_var.exp())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    @torch.no_grad()
    def disagreement(self, x):
        return torch.stack([member(x)[0] for member in self.members]).std(dim=0)


def run():
    torch.manual_seed(0)
    ensemble = DeepEnsemble(UncertaintyNet())
    for _ in range(3):
        x = torch.randn(16, 5)
        ensemble.fit_batch(x, x.sum(dim=1))
    return ensemble.disagreement(torch.randn(6, 5))


def verify(disagreement):
    assert not disagreement.any()


TRUTH = Truth(
    fault="the ensemble's members share one set of parameters: copy.copy is shallow",
    names=("copy",),
    repair=("self.members = [copy.deepcopy(prototype).reset() for _ in range(size)]",),
)
