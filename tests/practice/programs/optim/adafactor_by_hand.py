"""A memory-saving optimizer: factored second moments in float32 for bfloat16 weights, written under no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Adafactor(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, eps=1e-30, clip=1.0):
        super().__init__(params, dict(lr=lr, eps=eps, clip=clip))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.float()
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    if p.ndim >= 2:
                        state["row"] = torch.zeros(grad.shape[:-1])
                        state["col"] = torch.zeros(grad.shape[:-2] + grad.shape[-1:])
                    else:
                        state["v"] = torch.zeros_like(grad)
                state["step"] += 1
                beta2 = 1.0 - state["step"] ** -0.8
                sq = grad**2 + group["eps"]
                if p.ndim >= 2:
                    state["row"].mul_(beta2).add_(sq.mean(-1), alpha=1 - beta2)
                    state["col"].mul_(beta2).add_(sq.mean(-2), alpha=1 - beta2)
                    r = (state["row"] / state["row"].mean(-1, keepdim=True)).rsqrt().unsqueeze(-1)
                    update = r * state["col"].rsqrt().unsqueeze(-2) * grad
                else:
                    update = grad * state["v"].mul_(beta2).add_(sq, alpha=1 - beta2).rsqrt()
                update.div_(max(1.0, update.norm().item() / update.numel() ** 0.5 / group["clip"]))
                full = p.float()
                full.add_(update, alpha=-group["lr"])
                p.copy_(full)
        return loss


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to(torch.bfloat16)
    start = model[0].weight.detach().clone()
    optimizer = Adafactor(model.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        x, y = torch.randn(12, 6, dtype=torch.bfloat16), torch.randint(3, (12,))
        loss = F.cross_entropy(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, start, optimizer, losses


TRUTH = Truth()


def verify(out):
    model, start, optimizer, losses = out
    assert not torch.equal(start, model[0].weight) and model[0].weight.dtype == torch.bfloat16
    assert optimizer.state[model[0].weight]["row"].dtype == torch.float32
    assert all(0 < loss < 100 for loss in losses)
