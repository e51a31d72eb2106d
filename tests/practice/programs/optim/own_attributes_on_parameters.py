"""Frameworks tag parameters with attributes of their own."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    for name, p in net.named_parameters():
        p.no_weight_decay = name.endswith("bias")
        p.is_shared = False
    decay = [p for p in net.parameters() if not p.no_weight_decay]
    rest = [p for p in net.parameters() if p.no_weight_decay]
    opt = torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
