"""Sequence classifier with a GRU cell: the state is detached at every time step instead of between windows."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class StatefulGRU(nn.Module):
    def __init__(self, inp, hidden):
        super().__init__()
        self.cell = nn.GRUCell(inp, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x, h):
        for t in range(x.shape[1]):
            h = h.detach()  # cause
            h = self.cell(x[:, t], h)
        return self.norm(h), h


class Classifier(nn.Module):
    def __init__(self, inp=3, emb=6, hidden=12, classes=2):
        super().__init__()
        self.proj = nn.Linear(inp, emb)
        self.rnn = StatefulGRU(emb, hidden)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x, h):
        out, h = self.rnn(torch.tanh(self.proj(x)), h)
        return self.fc(out), h


def first_sign_task(n, windows=3, length=5):
    """The label is told by the first time step of each window."""
    x = torch.randn(windows, n, length, 3)
    return x, (x[:, :, 0, 0] > 0).long()


def run():
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    xs, ys = first_sign_task(16)
    h = torch.zeros(16, 12)
    for x, y in zip(xs, ys):
        x.requires_grad_(True)  # for the saliency plot
        h = h.detach()
        logits, h = model(x, h)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc = (logits.argmax(-1) == y).float().mean()
        print(f"loss {loss.item():.3f} acc {acc:.2f}")
    saliency = x.grad.abs().sum(dim=(0, 2))
    return saliency


def verify(out):
    assert not out[:-1].any() and out[-1] > 0


TRUTH = Truth(
    minor=True,  # truncated on purpose, it would look the same
    fault="no gradient goes back further than one time step",
    names=("h",),
    repair=("pass",),
)
