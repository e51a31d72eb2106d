"""Mixed precision: the loss is scaled, and the optimizer steps without the scaler."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    moves = []
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(3, (16,))
        before = net[0].weight.detach().clone()
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y)
        scaler.scale(loss).backward()  # also
        opt.step()  # cause
        moves.append((net[0].weight - before).abs().max().item())
    return moves


def verify(moves):
    assert max(moves) > 1e-3


TRUTH = Truth(
    fault="the optimizer steps with gradients that are still scaled",
    names=("scale",),
    repair=("scaler.step(opt)\nscaler.update()",),
)
