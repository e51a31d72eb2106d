"""Language: truncated backpropagation; a compiled cell carries its state from window to window."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(10, 6), nn.GRUCell(6, 12), nn.Linear(12, 10)
        self.register_buffer("state", torch.zeros(4, 12), persistent=False)

    def forward(self, ids, fresh):
        state = torch.where(fresh[:, None], torch.zeros_like(self.state), self.state)
        logits = []
        for word in self.embed(ids).unbind(1):
            state = self.cell(word, state)
            logits.append(self.out(state))
        self.state = state.detach()
        return torch.stack(logits, 1)


def setup():
    torch.manual_seed(0)


def run():
    model = Reader()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    text = (torch.arange(61) % 5)[None] + torch.tensor([0, 1, 2, 3])[:, None]
    losses = []
    for start in range(0, 60, 3):
        fresh = torch.tensor([start == 0, False, start == 9, False])
        ids, goal = text[:, start : start + 3], text[:, start + 1 : start + 4]
        loss = nn.functional.cross_entropy(forward(ids, fresh).flatten(0, 1), goal.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def verify(outcome):
    losses, model = outcome
    assert losses[-1] < 0.6 * losses[0]
    assert not model.state.requires_grad and model.state.abs().sum() > 0
    assert model.cell.weight_hh.grad.abs().sum() > 0
