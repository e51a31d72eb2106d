"""Forecasting: a compiled recurrent cell carries its state from one window of a long series to the next."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the carried state is not detached: the second window's backward enters the first window's freed graph",
    raises="Trying to backward through the graph a second time",
    names=("state", "detach"),
    repair=("guess, state = forward(series[start : start + 4], tuple(part.detach() for part in state))",),
)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(1, 10)
        self.out = nn.Linear(10, 1)

    def forward(self, window, state):
        guesses = []
        for value in window:
            state = self.cell(value, state)
            guesses.append(self.out(state[0]))
        return torch.stack(guesses), state


def setup():
    torch.manual_seed(0)


def run():
    model = Forecaster()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    series = torch.sin(torch.linspace(0, 6, 21))[:, None].expand(-1, 3)[..., None]
    state = (torch.zeros(3, 10), torch.zeros(3, 10))
    losses = []
    for start in range(0, 20, 4):
        guess, state = forward(series[start : start + 4], state)  # cause
        loss = nn.functional.mse_loss(guess, series[start + 1 : start + 5])
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


def verify(outcome):
    assert outcome is None
