"""A hook keeps the gradient of new rows of an embedding, the old rows stay as they are."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    old, new = 20, 3
    emb = nn.Embedding(old + new, 8)
    body = nn.Linear(8, old + new).requires_grad_(False)
    mask = torch.zeros(old + new, 1)
    mask[old:] = 1.0
    handle = emb.weight.register_hook(lambda g: g * mask)
    opt = torch.optim.Adam(emb.parameters(), 1e-2)
    before = emb.weight.detach().clone()
    for _ in range(3):
        ids = torch.randint(old + new, (8, 6))
        loss = nn.functional.cross_entropy(body(emb(ids)).flatten(0, 1), ids.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    handle.remove()
    return emb, before


def verify(out):
    emb, before = out
    assert torch.equal(emb.weight[:20], before[:20])
    assert not torch.equal(emb.weight[20:], before[20:])


TRUTH = Truth()
