"""Optimizers: LARS starts its momentum buffer as the gradient tensor itself, which zero_grad(set_to_none=False) then wipes and backward fills."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LARS(torch.optim.Optimizer):
    def __init__(
        self, params, lr, weight_decay=0, momentum=0.9, eta=0.001, weight_decay_filter=None, lars_adaptation_filter=None
    ):
        defaults = dict(
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            eta=eta,
            weight_decay_filter=weight_decay_filter,
            lars_adaptation_filter=lars_adaptation_filter,
        )
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                dp = p.grad
                if dp is None:
                    continue
                if g["weight_decay_filter"] is None or not g["weight_decay_filter"](p):
                    dp.add_(p, alpha=g["weight_decay"])
                if g["lars_adaptation_filter"] is None or not g["lars_adaptation_filter"](p):
                    param_norm, update_norm = torch.norm(p), torch.norm(dp)
                    one = torch.ones_like(param_norm)
                    q = torch.where(
                        param_norm > 0, torch.where(update_norm > 0, g["eta"] * param_norm / update_norm, one), one
                    )
                    dp.mul_(q)
                param_state = self.state[p]
                if "mu" not in param_state:
                    param_state["mu"] = dp  # cause
                else:
                    param_state["mu"].mul_(g["momentum"]).add_(dp)
                p.add_(param_state["mu"], alpha=-g["lr"])


def exclude_bias_and_norm(p):
    return p.ndim == 1


class BarlowTwins(nn.Module):
    def __init__(self, dim=12, lambd=0.0051):
        super().__init__()
        self.lambd = lambd
        self.backbone = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True))
        self.projector = nn.Sequential(
            nn.Linear(16, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(inplace=True), nn.Linear(dim, dim, bias=False)
        )
        self.bn = nn.BatchNorm1d(dim, affine=False)

    @staticmethod
    def off_diagonal(x):
        n, m = x.shape
        return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()

    def forward(self, y1, y2):
        z1, z2 = self.projector(self.backbone(y1)), self.projector(self.backbone(y2))
        c = self.bn(z1).T @ self.bn(z2)
        c.div_(len(z1))
        on_diag = torch.diagonal(c).add_(-1).pow_(2).sum()
        return on_diag + self.lambd * self.off_diagonal(c).pow_(2).sum()


def run():
    torch.manual_seed(0)
    model = BarlowTwins()
    optimizer = LARS(
        model.parameters(),
        lr=0.2,
        weight_decay=1e-6,
        eta=0.1,
        weight_decay_filter=exclude_bias_and_norm,
        lars_adaptation_filter=exclude_bias_and_norm,
    )
    w, past, agree = model.projector[0].weight, None, []
    for step in range(4):
        x = torch.randn(16, 10)
        loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        mu = optimizer.state[w]["mu"]
        agree.append(mu.data_ptr() == w.grad.data_ptr())
        past = mu.clone()
    return agree, past


def verify(outcome):
    agree, _ = outcome
    assert all(agree)


TRUTH = Truth(
    fault="the momentum buffer is p.grad itself; clearing the gradients clears the momentum",
    names=("mu",),
    repair=('param_state["mu"] = dp.clone()',),
)
