"""Recurrent model over a long stream cut into chunks, compiled cell."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Stream(nn.Module):
    def __init__(self, d_in=4, d=8):
        super().__init__()
        self.cell = nn.RNNCell(d_in, d)
        self.read = nn.Linear(d, 1)

    def forward(self, chunk, h):
        outs = []
        for x in chunk.unbind(1):
            h = self.cell(x, h)
            outs.append(self.read(h))
        return torch.stack(outs, 1), h


def chunks(batch=3, length=5, n=3):
    return torch.randn(batch, length * n, 4).split(length, 1)


def run():
    torch.manual_seed(0)
    model = Stream()
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    state = torch.zeros(3, 8)
    losses = []
    for chunk in chunks():
        out, last = net(chunk, state)  # also
        loss = nn.functional.mse_loss(out, chunk.sum(-1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        state = last  # cause
        losses.append(loss.item())
    return losses


def right(losses):
    assert len(losses) == 3


TRUTH = Truth(
    fault="the carried state is not detached between chunks",
    raises="Trying to backward through the graph a second time",
    repair=("state = last.detach()",),
)
