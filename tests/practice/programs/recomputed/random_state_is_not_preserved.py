"""A checkpointed block with dropout, told not to preserve the random state: the recomputation drops other units."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU())
    head = nn.Linear(8, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    x = torch.randn(16, 8)
    h = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)  # cause
    loss = head(h).sum()
    opt.zero_grad()
    loss.backward()
    alive = (h != 0).float()
    expected = alive.sum(0) * 2 * head.weight[0]
    opt.step()
    return (block[0].bias.grad - expected.detach()).abs().max().item() - 0.1


def verify(out):
    assert out > 0.2


TRUTH = Truth(
    fault="the recomputation draws another mask",
    names=("preserve_rng_state",),
    repair=("h = checkpoint(block, x, use_reentrant=False)",),
)
