"""Levenberg-Marquardt: jacrev on a flat vector, trial weights are loaded into the model and taken back when the loss rises; no optimizer."""

import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from tests.practice.truth import Truth


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class LevenbergMarquardt:
    def __init__(self, model, damping):
        self.model, self.damping = model, damping
        self.accepted = self.rejected = 0
        self.trail = []

    def residuals(self, x, y):
        return self.model(x) - y

    def jacobian(self, x):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        jac = jacrev(lambda w: functional_call(self.model, w, (x,)))(params)
        return torch.cat([j.flatten(1) for j in jac.values()], 1)

    @torch.no_grad()
    def step(self, x, y):
        old = parameters_to_vector(self.model.parameters()).clone()
        r = self.residuals(x, y)
        j = self.jacobian(x)
        a = j.T @ j
        a.diagonal().add_(self.damping)
        vector_to_parameters(old - torch.linalg.solve(a, j.T @ r), self.model.parameters())
        better = self.residuals(x, y).square().sum() < r.square().sum()
        if better:
            self.damping /= 20
            self.accepted += 1
        else:
            vector_to_parameters(old.clone(), self.model.parameters())
            self.damping *= 8
            self.rejected += 1
        self.trail.append(
            (old, j, r, r.square().sum().item(), bool(better), parameters_to_vector(self.model.parameters()).clone())
        )


def run():
    torch.manual_seed(0)
    model = Curve().double()
    x = torch.linspace(-2, 2, 15, dtype=torch.double)[:, None]
    y = torch.sin(3 * x[:, 0])
    lm = LevenbergMarquardt(model, 1e-4)
    for _ in range(8):
        lm.step(x, y)
    return model, lm, x, y


def verify(outcome):
    model, lm, x, y = outcome
    assert lm.accepted and lm.rejected
    twin = Curve().double()
    for old, j, r, loss, better, new in lm.trail:
        vector_to_parameters(old, twin.parameters())
        out = twin(x)
        for i in (0, 7, 14):
            row = torch.cat(
                [g.flatten() for g in torch.autograd.grad(out[i], list(twin.parameters()), retain_graph=True)]
            )
            assert torch.allclose(row, j[i], atol=1e-10)
        assert torch.equal(old, new) != better
    losses = [t[3] for t in lm.trail]
    assert all(b <= a for a, b in zip(losses, losses[1:])) and losses[-1] < losses[0]
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


TRUTH = Truth()
