"""Mixed precision by hand: bf16-free fp16 working copy, fp32 masters, dynamic loss scale that skips overflowing steps."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class MasterWeights:
    def __init__(self, model, lr, scale=2.0**22):
        self.half = list(model.parameters())
        self.master = [p.detach().float().clone().requires_grad_() for p in self.half]
        self.opt = torch.optim.Adam(self.master, lr=lr)
        self.scale, self.skipped, self.good = scale, 0, 0

    def backward(self, loss):
        (loss.float() * self.scale).backward()

    def step(self):
        grads = [p.grad for p in self.half]
        finite = all(torch.isfinite(g).all() for g in grads)
        if finite:
            for m, g in zip(self.master, grads):
                m.grad = g.float().div_(self.scale)
            self.opt.step()
            with torch.no_grad():
                torch._foreach_copy_(self.half, self.master)
            self.good += 1
        else:
            self.scale /= 16
            self.skipped += 1
        for p in self.half:
            p.grad = None
        return finite


def run():
    torch.manual_seed(0)
    model = MLP().half()
    amp = MasterWeights(model, 1e-2)
    start = [m.detach().clone() for m in amp.master]
    log = []
    for _ in range(4):
        x, y = torch.randn(8, 6), torch.randint(3, (8,))
        weights = [p.detach().float() for p in model.parameters()]
        amp.backward(F.cross_entropy(model(x.half()).float(), y))
        ok = amp.step()
        log.append((x, y, weights, ok, [None if m.grad is None else m.grad.clone() for m in amp.master]))
    return model, amp, start, log


def verify(outcome):
    model, amp, start, log = outcome
    assert amp.skipped >= 1 and amp.good >= 2
    reference = MLP()
    for x, y, weights, ok, grads in log:
        if ok:
            with torch.no_grad():
                for p, w in zip(reference.parameters(), weights):
                    p.copy_(w)
            exact = torch.autograd.grad(F.cross_entropy(reference(x), y), list(reference.parameters()))
            assert all(torch.allclose(a, b, atol=2e-3) for a, b in zip(grads, exact))
    for p, m, s in zip(model.parameters(), amp.master, start):
        assert torch.equal(p, m.half()) and not torch.equal(m, s)
    assert all(amp.opt.state[m]["step"] == amp.good for m in amp.master)


TRUTH = Truth()
