"""Experts chosen by topk, weighed by their probabilities, with a load loss."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.up = nn.Parameter(torch.randn(3, 6, 6) * 0.1)

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        w, idx = probs.topk(2, -1)
        outs = torch.einsum("bi,eio->beo", x, self.up)
        picked = outs.gather(1, idx[..., None].expand(-1, -1, 6))
        load = F.one_hot(idx[:, 0], 3).float().mean(0)
        return (picked * w[..., None]).sum(1), (load * probs.mean(0)).sum() * 3


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Moe()
    model = torch.compile(net, backend=BACKEND, fullgraph=True)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x = torch.randn(16, 6)


def run():
    for _ in range(2):
        opt.zero_grad()
        out, aux = model(x)
        (out.pow(2).mean() + 0.01 * aux).backward()
        opt.step()
