"""FitNets: the regressor is made at the first forward, after the optimizer, and is never trained."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.guided = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.rest = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        feat = self.guided(x)
        return feat, self.head(self.rest(feat).flatten(1))


class HintLoss(nn.Module):
    """The regressor's channels are taken from the first features that come by."""

    def __init__(self):
        super().__init__()
        self.regressor = None

    def forward(self, f_s, f_t):
        if self.regressor is None:
            self.regressor = nn.Conv2d(f_s.shape[1], f_t.shape[1], 1)  # also
        return F.mse_loss(self.regressor(f_s), f_t)


def run():
    torch.manual_seed(0)
    teacher, student, hint = Net(8).eval(), Net(3), HintLoss()
    params = [*student.parameters(), *hint.parameters()]  # cause
    opt = torch.optim.Adam(params, lr=1e-2)
    first = None
    for step in range(4):
        x, y = torch.randn(6, 1, 6, 6), torch.randint(0, 3, (6,))
        with torch.no_grad():
            f_t, _ = teacher(x)
        f_s, logits = student(x)
        loss_hint, loss_ce = hint(f_s, f_t), F.cross_entropy(logits, y)
        if first is None:
            first = hint.regressor.weight.detach().clone()
        loss = 100 * loss_hint + loss_ce
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"[{step}] hint {loss_hint.item():.4f} ce {loss_ce.item():.4f}")
    return hint, first


def verify(out):
    hint, first = out
    assert torch.equal(hint.regressor.weight, first)


TRUTH = Truth(
    fault="parameters made after the optimizer are not in it",
    names=("regressor",),
    repair=(
        "hint(student.guided(torch.zeros(1, 1, 6, 6)), teacher.guided(torch.zeros(1, 1, 6, 6)))\n"
        "params = [*student.parameters(), *hint.parameters()]",
    ),
)
