"""Hamiltonian network: the forward pass itself calls autograd.grad several times, states are re-marked as inputs without leaving the graph."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Hamiltonian(nn.Module):
    def __init__(self):
        super().__init__()
        self.potential = nn.Sequential(nn.Linear(2, 10), nn.Softplus(), nn.Linear(10, 1))
        self.log_mass = nn.Parameter(torch.zeros(2))

    def force(self, q):
        with torch.enable_grad():
            if not q.requires_grad:
                q = q.detach().requires_grad_()
            v = self.potential(q).sum()
            (g,) = torch.autograd.grad(v, q, create_graph=True)
        return -g

    def velocity(self, p):
        return p * torch.exp(-self.log_mass)

    def leapfrog(self, q, p, dt, steps):
        p = p + dt / 2 * self.force(q)
        for i in range(steps):
            q = q + dt * self.velocity(p)
            p = p + (dt if i < steps - 1 else dt / 2) * self.force(q)
        return q, p


def manual_force(model, q):
    a, b = model.potential[0], model.potential[2]
    return -(torch.sigmoid(a(q)) * b.weight) @ a.weight


def run():
    torch.manual_seed(0)
    model = Hamiltonian().double()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    log = []
    for _ in range(3):
        q, p = torch.randn(2, 6, 2, dtype=torch.double)
        target_q, target_p = q * 0.9 + p * 0.3, p * 0.9 - q * 0.3
        state = {k: v.clone() for k, v in model.state_dict().items()}
        q1, p1 = model.leapfrog(q, p, 0.1, 4)
        loss = (q1 - target_q).square().mean() + (p1 - target_p).square().mean()
        opt.zero_grad()
        loss.backward()
        log.append(
            (
                q,
                p,
                target_q,
                target_p,
                state,
                {n: None if w.grad is None else w.grad.clone() for n, w in model.named_parameters()},
            )
        )
        opt.step()
    with torch.no_grad():  # roll-out: force() switches gradients on for itself
        rolled = model.leapfrog(q, p, 0.1, 10)
    return model, log, [t.requires_grad for t in rolled]


def verify(outcome):
    model, log, flags = outcome
    assert flags == [False, False]
    twin = Hamiltonian().double()
    for q, p, tq, tp, state, grads in log:
        twin.load_state_dict(state)
        p = p + 0.05 * manual_force(twin, q)
        for i in range(4):
            q = q + 0.1 * p / twin.log_mass.exp()
            p = p + (0.1 if i < 3 else 0.05) * manual_force(twin, q)
        loss = (q - tq).square().mean() + (p - tp).square().mean()
        wanted = torch.autograd.grad(loss, list(twin.parameters()), allow_unused=True)
        for (n, _), w in zip(twin.named_parameters(), wanted):
            if n == "potential.2.bias":  # a constant of the potential has no force
                assert w is None and (grads[n] is None or not grads[n].any())
            else:
                assert torch.allclose(w, grads[n], atol=1e-9) and w.any()
    moved = {n for n, w in model.named_parameters() if not torch.equal(w, log[0][4][n])}
    assert moved == {"log_mass", "potential.0.weight", "potential.0.bias", "potential.2.weight"}


TRUTH = Truth()
