"""Gumbel-softmax by hand: without the detach the soft part cancels, and no gradient is left."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    enc, dec = nn.Linear(4, 5), nn.Linear(5, 4)
    opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], 0.1)
    before = enc.weight.detach().clone()
    for _ in range(2):
        x = torch.randn(16, 4)
        soft = F.softmax(enc(x), -1)
        hard = F.one_hot(soft.argmax(-1), 5).float()
        code = hard - soft + soft  # cause
        loss = (dec(code) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (enc.weight - before).abs().max()


def verify(out):
    assert out < 1e-6


TRUTH = Truth(fault="the gradients of both terms cancel", values=True, repair=("code = hard - soft.detach() + soft",))
