"""Sensor LSTM: the learned initial state is handed over as .data, so it never gets a gradient."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class SensorLSTM(nn.Module):
    """LSTM whose initial (h, c) are learned rather than zeros."""

    def __init__(self, n_in=3, n_hidden=10, n_layers=1):
        super().__init__()
        self.h0 = nn.Parameter(torch.zeros(n_layers, 1, n_hidden))
        self.c0 = nn.Parameter(torch.zeros(n_layers, 1, n_hidden))
        self.lstm = nn.LSTM(n_in, n_hidden, n_layers, batch_first=True)
        self.fc = nn.Linear(n_hidden, 1)

    def init_hidden(self, bsz):
        weight = next(self.lstm.parameters())
        h = weight.new_empty(self.h0.size(0), bsz, self.h0.size(2))
        c = torch.empty_like(h)
        h = h.copy_(self.h0.data.expand_as(h))  # cause
        c = c.copy_(self.c0.data.expand_as(c))  # cause
        return h, c

    def forward(self, x):
        hidden = self.init_hidden(x.size(0))
        out, hidden = self.lstm(x, hidden)
        return self.fc(out[:, -1])


def batches(n):
    g = torch.Generator().manual_seed(3)
    for _ in range(n):
        x = torch.randn(8, 5, 3, generator=g).cumsum(1)
        yield x, x[:, -1:, 0] * 0.5 + 1


def run():
    torch.manual_seed(7)
    net = SensorLSTM()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    for x, y in batches(4):
        optimizer.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    moved = {n: (p.detach() - start[n]).abs().max().item() for n, p in net.named_parameters()}
    return moved


def verify(moved):
    assert moved["fc.weight"] > 0
    assert moved["h0"] == 0 and moved["c0"] == 0


TRUTH = Truth(
    fault="h0 and c0 enter the LSTM as .data, outside autograd, so they never learn",
    names=("h0",),  # Each of the two lines has a finding of its own.
    repair=("h = self.h0.expand_as(h).contiguous()", "c = self.c0.expand_as(c).contiguous()"),
)
