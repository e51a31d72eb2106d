"""Transformer-XL's memory of the last segment is kept with its graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.query, self.value = nn.Embedding(10, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 10)

    def forward(self, tokens, memory):
        h = self.embed(tokens)
        context = h if memory is None else torch.cat([memory, h], 1)
        attention = (self.query(h) @ context.transpose(1, 2)).softmax(-1)
        h = h + attention @ self.value(context)
        return self.out(h), h


def run():
    torch.manual_seed(0)
    model = Recurrent()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    memory = None
    for _ in range(3):
        tokens = torch.randint(0, 10, (2, 6))
        logits, memory = model(tokens, memory)  # cause
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, 10), tokens[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the memory has the graph of the segment before",
    raises="Trying to backward through the graph a second time",
    names=("memory",),
    repair=("logits, memory = model(tokens, memory)\nmemory = memory.detach()",),
)
