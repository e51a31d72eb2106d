"""Logistic curve fit with LBFGS: the closure does not clear, so gradients add up over all its evaluations."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class GrowthCurve(nn.Module):
    """K / (1 + exp(-r (t - t0)))"""

    def __init__(self):
        super().__init__()
        self.log_k = nn.Parameter(torch.tensor(0.0))
        self.r = nn.Parameter(torch.tensor(0.5))
        self.t0 = nn.Parameter(torch.tensor(1.0))

    def forward(self, t):
        return self.log_k.exp() * torch.sigmoid(self.r * (t - self.t0))


def observations(n=30):
    t = torch.linspace(0, 10, n)
    y = 4 * torch.sigmoid(0.9 * (t - 4.5))
    return t, y + 0.02 * torch.randn(n)


class Fitter:
    def __init__(self, model, max_iter=4):
        self.model = model
        self.opt = torch.optim.LBFGS(model.parameters(), lr=0.05, max_iter=max_iter)
        self.evaluations = []

    def fit(self, t, y, n_outer):
        def closure():
            loss = (self.model(t) - y).square().mean()
            self.calls = len(self.evaluations) + 1
            loss.backward()  # cause
            true = torch.autograd.grad((self.model(t) - y).square().mean(), list(self.model.parameters()))
            got = [p.grad.clone() for p in self.model.parameters()]
            self.evaluations.append((torch.stack(true), torch.stack(got)))
            return loss

        for _ in range(n_outer):
            self.opt.step(closure)  # also
        return self.evaluations


def run():
    torch.manual_seed(0)
    t, y = observations()
    fitter = Fitter(GrowthCurve())
    return fitter.fit(t, y, n_outer=2)


def verify(evaluations):
    assert len(evaluations) > 4
    true, got = evaluations[0]
    assert torch.allclose(true, got)
    wrong = [not torch.allclose(true, got, rtol=1e-2, atol=1e-4) for true, got in evaluations[1:]]
    assert sum(wrong) >= len(wrong) - 1


TRUTH = Truth(
    fault="the LBFGS closure never clears the gradients, so each evaluation adds to all those before",
    names=("closure",),
    repair=("self.opt.zero_grad()\nloss.backward()",),
)
