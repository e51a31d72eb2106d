"""Only new rows of an embedding should learn; the mask that a hook applies is zero everywhere."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    old, new = 20, 3
    emb = nn.Embedding(old + new, 8)
    body = nn.Linear(8, old + new).requires_grad_(False)
    mask = torch.zeros(old + new, 1)
    mask[old + new :] = 1.0  # cause
    emb.weight.register_hook(lambda g: g * mask)  # also
    opt = torch.optim.Adam(emb.parameters(), 1e-2)
    before = emb.weight.detach().clone()
    for _ in range(3):
        ids = torch.randint(old + new, (4, 6))
        loss = nn.functional.cross_entropy(body(emb(ids)).flatten(0, 1), ids.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return emb, before


def verify(out):
    emb, before = out
    assert torch.equal(emb.weight, before)


TRUTH = Truth(
    fault="the hook sets the whole gradient to zero", values=True, names=("hook",), repair=("mask[old:] = 1.0",)
)
