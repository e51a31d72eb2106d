"""Orthogonality twice: a cached parametrization shared by many time steps, and a Stiefel matrix with projected gradient and QR retraction."""

import torch
from torch import nn
from torch.nn.utils import parametrize
from tests.practice.truth import Truth


class Cayley(nn.Module):
    def forward(self, raw):
        a = raw.triu(1)
        a = a - a.T
        eye = torch.eye(len(a), dtype=a.dtype)
        return torch.linalg.solve(eye + a, eye - a)


class OrthoRnn(nn.Module):
    def __init__(self, hidden=4):
        super().__init__()
        self.inp, self.rec, self.out = nn.Linear(2, hidden), nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, 1)
        parametrize.register_parametrization(self.rec, "weight", Cayley(), unsafe=True)
        with torch.no_grad():
            self.rec.parametrizations.weight.original.mul_(0.3)
        self.frame = nn.Parameter(torch.linalg.qr(torch.randn(hidden, 2))[0])

    def forward(self, xs):
        h = 0
        with parametrize.cached():
            for x in xs.unbind(1):
                h = torch.tanh(self.inp(x) + self.rec(h + torch.zeros(len(x), 4).to(x)))
        return self.out(h + h @ self.frame @ self.frame.T).squeeze(1)


@torch.no_grad()
def riemannian_step(p, lr):
    g = p.grad
    sym = p.T @ g
    p.grad = g - p @ (sym + sym.T) / 2
    q, r = torch.linalg.qr(p - lr * p.grad)
    p.copy_(q * r.diagonal().sign())


def run():
    torch.manual_seed(0)
    model = OrthoRnn().double()
    opt = torch.optim.Adam([p for n, p in model.named_parameters() if n != "frame"], lr=1e-2)
    with torch.no_grad():
        model.frame.copy_(torch.linalg.qr(model.frame)[0])
    log = []
    for _ in range(3):
        x = torch.randn(6, 5, 2, dtype=torch.double)
        state = {n: p.detach().clone() for n, p in model.named_parameters()}
        model.zero_grad()
        (model(x) - x[:, 0, 0]).square().mean().backward()
        log.append((x, state, {n: p.grad.clone() for n, p in model.named_parameters()}))
        opt.step()
        riemannian_step(model.frame, 0.1)
    return model, log


def verify(outcome):
    model, log = outcome
    raw_name = "rec.parametrizations.weight.original"
    for x, state, grads in log:
        p = {n: v.clone().requires_grad_() for n, v in state.items()}
        a = p[raw_name].triu(1) - p[raw_name].triu(1).T
        w = torch.linalg.inv(torch.eye(4).double() + a) @ (torch.eye(4).double() - a)
        h = x.new_zeros(6, 4)
        for t in range(5):
            h = (x[:, t] @ p["inp.weight"].T + p["inp.bias"] + h @ w.T).tanh()
        out = (h + h @ p["frame"] @ p["frame"].T) @ p["out.weight"][0] + p["out.bias"]
        loss = (out - x[:, 0, 0]).square().mean()
        for (n, _), g in zip(p.items(), torch.autograd.grad(loss, list(p.values()))):
            assert torch.allclose(g, grads[n], atol=1e-9), n
    w, f = model.rec.weight, model.frame
    assert torch.allclose(w @ w.T, torch.eye(4).double(), atol=1e-9)
    assert torch.allclose(f.T @ f, torch.eye(2).double(), atol=1e-9)
    assert all(not torch.equal(p, log[0][1][n]) for n, p in model.named_parameters())


TRUTH = Truth()
