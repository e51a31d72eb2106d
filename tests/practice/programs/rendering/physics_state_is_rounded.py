"""A differentiable simulator rounds its state for stability: the controls get no gradient."""

import torch

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    controls = torch.zeros(5, requires_grad=True)
    opt = torch.optim.Adam([controls], lr=0.1)
    for _ in range(2):
        position, velocity = torch.zeros(()), torch.zeros(())
        for u in controls:
            velocity = velocity + 0.1 * u
            position = torch.round(position + 0.1 * velocity, decimals=6)  # cause
        loss = (position - 1).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return controls.grad.abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(fault="round has derivative 0", names=("round",), repair=("position = position + 0.1 * velocity",))
