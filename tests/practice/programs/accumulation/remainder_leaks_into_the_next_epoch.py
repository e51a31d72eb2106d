"""Accumulation: what is left at the end of an epoch is added to the first step of the next one. Many live with it."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Linear(10, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    batches = [(torch.randn(8, 10), torch.randint(2, (8,))) for _ in range(5)]
    norms = []
    for _epoch in range(2):
        for i, (x, y) in enumerate(batches):
            (nn.functional.cross_entropy(model(x), y) / 2).backward()
            if i % 2 == 1:
                norms.append(model.weight.grad.norm().item())
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    return norms


TRUTH = Truth()
