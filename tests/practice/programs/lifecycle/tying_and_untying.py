"""Weights shared late and separated again: one Parameter object, optimizer state dropped, a clone when they part."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=6):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.mixer = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.decoder(self.mixer(self.encoder(ids))[0])


def replace(optimizer, old, new):
    """Put another parameter in the place of one the optimizer holds; None takes it out."""
    optimizer.state.pop(old, None)
    for group in optimizer.param_groups:
        kept = []
        for p in group["params"]:
            if p is not old:
                kept.append(p)
            elif new is not None:
                kept.append(new)
        group["params"] = kept


def tie(model, optimizer):
    replace(optimizer, model.decoder.weight, None)
    model.decoder.weight = model.encoder.weight


def untie(model, optimizer):
    own = nn.Parameter(model.encoder.weight.detach().clone())
    model.decoder.weight = own
    optimizer.add_param_group({"params": [own]})


def fit(model, optimizer, steps):
    g = torch.Generator().manual_seed(steps)
    for _ in range(steps):
        ids = torch.randint(0, 12, (4, 6), generator=g)
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    model = LM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    fit(model, optimizer, 2)
    tie(model, optimizer)
    before = model.encoder.weight.detach().clone()
    fit(model, optimizer, 1)
    stride = (model.encoder.weight.detach() - before).abs().max().item()
    same = model.encoder.weight is model.decoder.weight
    untie(model, optimizer)
    fit(model, optimizer, 2)
    apart = (model.encoder.weight - model.decoder.weight).abs().max().item()
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    return stride, same, apart, held == {id(p) for p in model.parameters()}


def verify(outcome):
    stride, same, apart, complete = outcome
    assert 0 < stride < 0.02
    assert same and apart > 1e-3 and complete


TRUTH = Truth()
