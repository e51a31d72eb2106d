"""Truncated BPTT where `retain_graph=True` silences the second backward and the state is never detached."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    rnn, head = nn.RNN(4, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], 0.05)
    hidden = torch.zeros(1, 3, 8)
    for _ in range(3):
        x, y = torch.randn(3, 5, 4), torch.randn(3, 5, 1)
        out, hidden = rnn(x, hidden)  # cause
        loss = nn.functional.mse_loss(head(out), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)  # also
        opt.step()


TRUTH = Truth(
    fault="the state is not cut from the step before",
    raises="one of the variables needed for gradient computation has been modified",
    names=("hidden",),
    repair=("out, hidden = rnn(x, hidden.detach())",),
)
