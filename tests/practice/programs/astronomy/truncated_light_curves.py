"""Light curves of variable stars: hidden state detached between windows, carried on from one to the next. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


class LightCurveGRU(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.cell = nn.GRU(2, hidden, batch_first=True)
        self.flux = nn.Linear(hidden, 1)

    def forward(self, window, state=None):
        h, state = self.cell(window, state)
        return self.flux(h).squeeze(-1), state


def repackage(state):
    return None if state is None else state.detach()


def stars(n, length):
    t = torch.arange(length).float()
    period = 5 + 10 * torch.rand(n, 1)
    flux = torch.sin(2 * torch.pi * t / period) + 0.05 * torch.randn(n, length)
    gap = torch.full((n, length), 1.0)
    return torch.stack([flux, gap], -1)


def run():
    torch.manual_seed(0)
    model = LightCurveGRU()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    curves = stars(16, 33)
    before = {k: v.detach().clone() for k, v in model.named_parameters()}
    history, running = [], 0.0
    for _ in range(2):
        state = None
        for start in range(0, 32, 8):
            window = curves[:, start:start + 8]
            target = curves[:, start + 1:start + 9, 0]
            state = repackage(state)
            predicted, state = model(window, state)
            loss = nn.functional.mse_loss(predicted, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        history.append(running / 4)
        running = 0.0
    return before, dict(model.named_parameters()), history


def verify(outcome):
    before, after, history = outcome
    assert all(not torch.equal(before[k], after[k]) for k in before)
    assert history[-1] < history[0]


TRUTH = Truth()
