"""PINN: collocation points are leaves, second derivatives by create_graph, sampling weights adapt by gradient ascent (reversed grads)."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Ansatz(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1, bias=False)
        )

    def forward(self, x):
        return x * (1 - x) * self.net(x)  # zero at both ends by construction


def laplacian(u, x):
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    return ddu


class SelfAdaptive(nn.Module):
    def __init__(self, points):
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(points, 1))
        self.raw.register_hook(lambda g: -g)  # ascent: the saddle point of McClenny & Braga-Neto

    def forward(self):
        return self.raw.exp()


def source(x):
    return -(torch.pi**2) * torch.sin(torch.pi * x)


def run():
    torch.manual_seed(0)
    u, w = Ansatz().double(), SelfAdaptive(16).double()
    opt = torch.optim.Adam([{"params": u.parameters()}, {"params": w.parameters(), "lr": 0.1}], lr=1e-2)
    x = torch.linspace(0.02, 0.98, 16, dtype=torch.double)[:, None].requires_grad_()
    log = []
    for _ in range(3):
        state = {k: v.clone() for k, v in u.state_dict().items()}
        raw = w.raw.detach().clone()
        residual = laplacian(u(x), x) - source(x)
        loss = (w() * residual.square()).mean()
        opt.zero_grad()
        loss.backward()
        x.grad = None  # the points do not move
        log.append((state, raw, [p.grad.clone() for p in u.parameters()], w.raw.grad.clone()))
        opt.step()
    return u, w, x.detach(), log


def verify(outcome):
    u, w, x, log = outcome
    twin = Ansatz().double()
    for state, raw, grads, raw_grad in log:
        twin.load_state_dict(state)
        one = torch.func.vmap(torch.func.hessian(lambda s: twin(s[None, None]).squeeze()))
        residual = one(x[:, 0])[:, None] - source(x)
        wanted = torch.autograd.grad((raw.exp() * residual.square()).mean(), list(twin.parameters()))
        for a, b in zip(grads, wanted):
            assert torch.allclose(a, b, atol=1e-8)
        assert torch.allclose(raw_grad, -raw.exp() * residual.detach().square() / 16, atol=1e-8)
    assert (w.raw > 0).all()
    assert all(not torch.equal(p, log[0][0][k]) for k, p in u.named_parameters())


TRUTH = Truth()
