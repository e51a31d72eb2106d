"""GrowNet: the optimizer of the corrective step is made before the newest weak learner is appended."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Weak(nn.Module):
    def __init__(self, features, context, hidden=12):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(features + context, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, context=None):
        h = self.hidden(x if context is None else torch.cat([x, context], 1))
        return self.out(h).squeeze(-1), h


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.learners = nn.ModuleList()
        self.rate = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        total, context = 0.0, None
        for learner in self.learners:
            out, context = learner(x, context)
            total = total + self.rate * out
        return total


def boost(ensemble, x, y, stages=2):
    for stage in range(stages):
        corrective = torch.optim.Adam(ensemble.parameters(), lr=5e-3)  # also
        ensemble.learners.append(Weak(x.shape[1], 12 if stage else 0))  # cause
        for _ in range(4):
            corrective.zero_grad()
            loss = F.mse_loss(ensemble(x), y)
            loss.backward()
            corrective.step()


def run():
    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, 0].sin() + x[:, 1] * x[:, 2]
    ensemble = Ensemble()
    torch.manual_seed(1)
    boost(ensemble, x, y)
    last = ensemble.learners[-1]
    torch.manual_seed(1)
    Weak(5, 0)
    return last.out.weight, Weak(5, 12).out.weight


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the optimizer of a stage does not hold the learner of that stage",
    names=("learners",),
    repair=(
        "ensemble.learners.append(Weak(x.shape[1], 12 if stage else 0))\n"
        "corrective.add_param_group({'params': list(ensemble.learners[-1].parameters())})",
    ),
)
