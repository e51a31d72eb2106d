"""Gradual unfreezing: a group of parameters joins the optimizer each epoch; before that it has no gradient at all."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        x = self.embed(ids).mean(1)
        for layer in self.layers:
            x = torch.tanh(layer(x)) + x
        return self.head(x)

    def groups(self):
        return [self.head, *reversed(self.layers), self.embed]


def run():
    torch.manual_seed(0)
    model = Classifier()
    for p in model.parameters():
        p.requires_grad_(False)
    groups = model.groups()
    groups[0].requires_grad_(True)
    optimizer = torch.optim.AdamW(groups[0].parameters(), lr=1e-2)
    counts, losses = [], []
    for epoch in range(5):
        if 0 < epoch < len(groups):
            groups[epoch].requires_grad_(True)
            optimizer.add_param_group({"params": list(groups[epoch].parameters()), "lr": 1e-2 / 2.6**epoch})
        for _ in range(2):
            ids, y = torch.randint(20, (6, 5)), torch.randint(3, (6,))
            loss = F.cross_entropy(model(ids), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        counts.append(sum(p.grad is not None for p in model.parameters()))
        losses.append(loss.item())
    return model, optimizer, counts, losses


TRUTH = Truth()


def verify(out):
    model, optimizer, counts, losses = out
    assert counts == [2, 4, 6, 8, 9] and len(optimizer.param_groups) == 5
    assert all(0 < loss < 100 for loss in losses)
