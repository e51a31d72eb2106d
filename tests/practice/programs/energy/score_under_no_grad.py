"""Sampling is decorated with no_grad, and the score needs a gradient inside."""

import torch
from torch import nn

from tests.practice.truth import Truth


@torch.no_grad()  # cause
def sample(energy, x):
    for _ in range(2):
        x = x.detach().requires_grad_()
        score = torch.autograd.grad(-energy(x).sum(), x)[0]  # symptom
        x = x + 0.1 * score
    return x


def run():
    torch.manual_seed(0)
    energy = nn.Linear(2, 1)
    return sample(energy, torch.randn(4, 2))


TRUTH = Truth(
    fault="the score is asked for where nothing is recorded",
    raises="element 0 of tensors does not require grad",
    names=("no_grad",),
    repair=("@torch.enable_grad()",),
)
