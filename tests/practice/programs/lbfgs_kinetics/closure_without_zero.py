"""Chemical kinetics fitted by L-BFGS: the closure does not clear the gradients, so each inner evaluation adds to the last."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Arrhenius(nn.Module):
    """Rate constants of a chain A -> B -> C at several temperatures."""

    def __init__(self):
        super().__init__()
        self.log_a = nn.Parameter(torch.tensor([1.0, 0.0]))
        self.energy = nn.Parameter(torch.tensor([0.5, 1.0]))

    def rates(self, temperature):
        return (self.log_a - self.energy / temperature[:, None]).exp()

    def forward(self, temperature, steps=12, dt=0.1):
        k = self.rates(temperature)
        a, b = torch.ones_like(temperature), torch.zeros_like(temperature)
        out = []
        for _ in range(steps):
            flow1, flow2 = k[:, 0] * a, k[:, 1] * b
            a = a - dt * flow1
            b = b + dt * (flow1 - flow2)
            out.append(torch.stack([a, b], -1))
        return torch.stack(out)


def fit(model, temperature, measured, outer):
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=5)
    optimizer.zero_grad()
    errors = []

    def closure():
        loss = (model(temperature) - measured).square().mean()
        wanted = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        loss.backward()  # cause
        errors.append(max((p.grad - w).abs().max().item() for p, w in zip(model.parameters(), wanted)))
        return loss

    for _ in range(outer):
        optimizer.step(closure)
    return errors


def run():
    torch.manual_seed(0)
    truth = Arrhenius()
    with torch.no_grad():
        truth.log_a += torch.tensor([0.4, -0.3])
        temperature = torch.linspace(0.8, 2.0, 5)
        measured = truth(temperature)
    return fit(Arrhenius(), temperature, measured, outer=2)


def verify(outcome):
    assert outcome[0] == 0.0
    assert max(outcome) > 1e-3


TRUTH = Truth(
    fault="no zero_grad() in the closure: L-BFGS sees sums of old gradients",
    names=("closure", "zero_grad"),
    repair=("optimizer.zero_grad()\nloss.backward()",),
)
