"""Uncertainty weighting (Kendall et al.): the log variances are converted after being wrapped, so they are no parameters any more."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class UncertaintyLoss(nn.Module):
    """sum_i exp(-s_i) L_i + s_i with learned s_i."""

    def __init__(self, n_tasks, dtype=torch.float64):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks)).to(dtype)  # cause

    def forward(self, losses):
        losses = torch.stack(losses).to(self.log_vars.dtype)
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


class DepthNormalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU())
        self.depth = nn.Conv2d(6, 1, 1)
        self.normal = nn.Conv2d(6, 3, 1)

    def forward(self, x):
        f = self.encoder(x)
        return self.depth(f), nn.functional.normalize(self.normal(f), dim=1)


def task_losses(depth, normal, batch):
    l_depth = (depth - batch["depth"]).abs().mean()
    l_normal = (1 - (normal * batch["normal"]).sum(1)).mean()
    return [l_depth, l_normal]


def make_batch():
    img = torch.rand(2, 3, 6, 6)
    n = nn.functional.normalize(torch.randn(2, 3, 6, 6), dim=1)
    return {"img": img, "depth": img.mean(1, keepdim=True) * 5, "normal": n}


def run():
    torch.manual_seed(3)
    net = DepthNormalNet()
    weighting = UncertaintyLoss(2)
    optimizer = torch.optim.Adam(list(net.parameters()) + list(weighting.parameters()), lr=1e-2)
    conv = net.encoder[0].weight.detach().clone()
    trace = []
    for i in range(4):
        batch = make_batch()
        depth, normal = net(batch["img"])
        loss = weighting(task_losses(depth, normal, batch))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        trace.append(weighting.log_vars.detach().clone())
    return not torch.equal(conv, net.encoder[0].weight), torch.stack(trace)


def verify(outcome):
    trained, trace = outcome
    assert trained
    assert (trace == 0).all()


TRUTH = Truth(
    fault="nn.Parameter(...).to(float64) is a plain non-leaf tensor: log_vars is in no parameters() and never learns",
    names=("log_vars",),
    repair=("self.log_vars = nn.Parameter(torch.zeros(n_tasks).to(dtype))",),
)
