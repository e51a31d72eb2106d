"""What a thousand ranks would send of a model: simulated, for no machine has so many."""

import re

import torch
from torch import nn

from autograd_inspector import inspect
from autograd_inspector.api.rank_parts import part_of
from autograd_inspector.views.archive import encode

RANKS = 1024


def sent(layers: int, how: str, ranks: int = RANKS) -> dict[int, bytes]:
    """Its part by rank. ``how`` ranks differ: "alike" not at all; by "rate" each has another learning rate.

    By "device": eight share a machine; by "frozen": each has frozen another parameter.
    """
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(layers)])
    optimizer = torch.optim.AdamW(net.parameters())
    with inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    part = encode(part_of(inspection.report))
    required = [found.span() for found in re.finditer('"requires_grad":true', part)][: 2 * layers]

    def of(rank: int) -> str:
        if how == "rate":
            return part.replace('"lr":0.001', f'"lr":0.{rank + 1:04}')
        if how == "device":
            return part.replace('"device":"cpu"', f'"device":"cuda:{rank % 8}"')
        if how == "frozen":
            start, end = required[rank % len(required)]
            return f'{part[:start]}"requires_grad":false{part[end:]}'
        return part

    return {rank: of(rank).encode() for rank in range(ranks)}
