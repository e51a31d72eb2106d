"""A second-order-moment optimizer from a paper, used on a small regression."""

import torch
from torch import nn
from torch.optim import Optimizer

from tests.practice.truth import Truth, fails


class Yogi(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-3):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g, state = p.grad, self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.full_like(p, 1e-6)
                state["step"] += 1
                m, v = state["exp_avg"], state["exp_avg_sq"]
                m = m * beta1 + g * (1 - beta1)  # cause
                v.sub_((1 - beta2) * torch.sign(v - g * g) * g * g)
                mhat = m / (1 - beta1 ** state["step"])
                vhat = v / (1 - beta2 ** state["step"])
                p.addcdiv_(mhat, vhat.sqrt().add_(group["eps"]), value=-group["lr"])
        return loss


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Regressor()
    opt = Yogi(model.parameters(), lr=5e-3)
    for _ in range(6):
        x = torch.randn(32, 4)
        loss = (model(x) - x.prod(-1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [s["exp_avg"].clone() for s in opt.state.values()]


TRUTH = Truth(
    fault="the first moment is bound to a new tensor and never written back to the state",
    names=("exp_avg",),
    repair=("m.mul_(beta1).add_(g, alpha=1 - beta1)",),
)


def well(out):
    assert len(out) == 4 and all(m.abs().sum() > 0 for m in out)


verify = fails(well)
