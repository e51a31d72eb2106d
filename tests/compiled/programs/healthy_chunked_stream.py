"""Truncated backpropagation over a stream with logging in the compiled forward."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Reader(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(3, d), nn.Linear(d, 3)
        self.seen = []

    def forward(self, chunk, state):
        ys = []
        for x in chunk.unbind(1):
            state = self.cell(x, state)
            ys.append(self.out(state[0]))
        self.seen.append(state[0].detach().abs().mean().item())
        return torch.stack(ys, 1), state


def run():
    torch.manual_seed(0)
    model = Reader()
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    state = (torch.zeros(2, 6), torch.zeros(2, 6))
    for chunk in torch.randn(2, 12, 3).split(4, 1):
        y, state = net(chunk[:, :-1], tuple(s.detach() for s in state))
        loss = nn.functional.mse_loss(y, chunk[:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return start, model


def right(out):
    start, model = out
    assert len(model.seen) == 3
    assert all(not torch.equal(a, b) for a, b in zip(start, model.parameters()))


TRUTH = Truth()
