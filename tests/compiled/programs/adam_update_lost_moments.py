"""Adam written by hand as a compiled function over lists: its first moment is computed anew and not stored."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


@torch.compile(backend=BACKEND)
@torch.no_grad()
def adam_update(params, firsts, seconds, count, lr=1e-2, b1=0.9, b2=0.99, eps=1e-8):
    count.add_(1)
    for p, m, v in zip(params, firsts, seconds):
        m = m.mul(b1).add(p.grad, alpha=1 - b1)  # cause
        v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
        m_hat = m / (1 - b1**count)
        v_hat = v / (1 - b2**count)
        p.sub_(lr * m_hat / (v_hat.sqrt() + eps))


class Forecaster(nn.Module):
    def __init__(self, window=12, horizon=3):
        super().__init__()
        self.mix = nn.Linear(window, 16)
        self.out = nn.Linear(16, horizon)

    def forward(self, past):
        return self.out(torch.tanh(self.mix(past)))


def run():
    torch.manual_seed(0)
    model = torch.compile(Forecaster(), backend=BACKEND)
    params = list(model.parameters())
    firsts = [torch.zeros_like(p) for p in params]
    seconds = [torch.zeros_like(p) for p in params]
    count = torch.zeros(())
    for _ in range(5):
        series = torch.sin(torch.rand(16, 1) * 6 + torch.arange(15.0) / 2)
        loss = nn.functional.mse_loss(model(series[:, :12]), series[:, 12:])
        for p in params:
            p.grad = None
        loss.backward()
        adam_update(params, firsts, seconds, count)
    return [m.abs().max().item() for m in firsts], [v.abs().max().item() for v in seconds]


def verify(outcome):
    firsts, seconds = outcome
    assert all(m == 0 for m in firsts) and all(v > 0 for v in seconds)


TRUTH = Truth(
    fault="the new first moment is bound to a local name: the state stays zero, there is no momentum",
    names=("firsts",),
    repair=("m.mul_(b1).add_(p.grad, alpha=1 - b1)",),
)
