"""First-order search: the architecture's gradients still hold the training loss when its optimizer steps."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SuperNet(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.widths = nn.ModuleList([nn.Linear(dim, 1), nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1))])
        self.choice = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        shares = F.gumbel_softmax(self.choice, tau=1.0)
        return sum(share * net(x) for share, net in zip(shares, self.widths)).squeeze(-1)


def search(model, train, valid):
    opt_w = torch.optim.Adam(model.widths.parameters(), lr=1e-2)
    opt_a = torch.optim.Adam([model.choice], lr=3e-2)
    for (x, y), (x_val, y_val) in zip(train, valid):
        opt_w.zero_grad()
        F.mse_loss(model(x), y).backward()
        opt_w.step()

        opt_w.zero_grad()  # cause
        loss = F.mse_loss(model(x_val), y_val)
        (alone,) = torch.autograd.grad(loss, model.choice, retain_graph=True)
        loss.backward()
        gap = model.choice.grad - alone
        opt_a.step()
    return gap


def batches(count):
    for _ in range(count):
        x = torch.randn(16, 6)
        yield x, x[:, 0] * x[:, 1]


def run():
    torch.manual_seed(0)
    return search(SuperNet(), list(batches(3)), list(batches(3)))


def verify(out):
    assert out.abs().max() > 1e-4


TRUTH = Truth(
    fault="choice.grad is never cleared: it sums up over all steps and both losses",
    names=("choice",),
    repair=("opt_w.zero_grad()\nopt_a.zero_grad(set_to_none=False)",),
)
