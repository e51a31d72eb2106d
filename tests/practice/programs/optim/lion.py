"""A home-made Lion: the new value is bound to the loop variable, so no parameter ever changes."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import Optimizer

from tests.practice.truth import Truth


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0:
            raise ValueError(f"invalid learning rate: {lr}")
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

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
                grad, state = p.grad, self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                update = exp_avg.mul(beta1).add(grad, alpha=1 - beta1).sign_()
                decayed = p * (1 - group["lr"] * group["weight_decay"])
                p = decayed - group["lr"] * update  # cause
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


def autoencoder(dim=12, code=3):
    encoder = nn.Sequential(nn.Linear(dim, 8), nn.ReLU(), nn.Linear(8, code))
    decoder = nn.Sequential(nn.Linear(code, 8), nn.ReLU(), nn.Linear(8, dim))
    return nn.ModuleDict({"encoder": encoder, "decoder": decoder})


def run():
    torch.manual_seed(0)
    model = autoencoder()
    opt = Lion(model.parameters(), lr=3e-3, weight_decay=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    for epoch in range(4):
        x = torch.randn(32, 3) @ torch.randn(3, 12)
        loss = F.mse_loss(model["decoder"](model["encoder"](x + 0.1 * torch.randn_like(x))), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return list(model.parameters()), start


def verify(out):
    assert all(torch.equal(p, s) for p, s in zip(*out))


TRUTH = Truth(
    fault="the optimizer's step changes no parameter",
    repair=("p.copy_(decayed - group['lr'] * update)",),
)
