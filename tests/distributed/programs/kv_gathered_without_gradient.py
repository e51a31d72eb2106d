"""Context parallel attention: each rank has a part of the sequence, keys and values are gathered by plain all_gather."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        q, k, v = self.q(x), everywhere(self.k(x)), everywhere(self.v(x))
        return self.o((q @ k.T / 8**0.5).softmax(-1) @ v)


def everywhere(t):
    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t.contiguous())  # cause
    return torch.cat(parts)  # also


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), Attention(8), nn.Linear(8, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(0)
    for _ in range(3):
        x = torch.randn(9, 6, generator=g)
        inputs, targets = x[:-1], x[1:]
        mine = slice(dist.get_rank() * 4, dist.get_rank() * 4 + 4)
        loss = F.mse_loss(model(inputs[mine]), targets[mine])
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()
        opt.step()
    return round(model[1].k.weight.sum().item(), 4)


TRUTH = Truth(fault="keys and values get no gradient", rule="AG105|AG601", names=("all_gather",))
