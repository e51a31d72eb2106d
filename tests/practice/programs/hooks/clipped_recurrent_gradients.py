"""Tensor hooks clip the gradient of each hidden state on purpose, and a hook on a module only writes a log."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ClippedRNN(nn.Module):
    def __init__(self, vocab, hidden, limit):
        super().__init__()
        self.embed, self.cell, self.out = (
            nn.Embedding(vocab, hidden),
            nn.RNNCell(hidden, hidden),
            nn.Linear(hidden, vocab),
        )
        self.limit = limit

    def forward(self, ids):
        h, logits = torch.zeros(len(ids), self.cell.hidden_size), []
        for t in range(ids.shape[1]):
            h = self.cell(self.embed(ids[:, t]), h)
            if h.requires_grad:
                h.register_hook(lambda grad: grad.clamp(-self.limit, self.limit))
            logits.append(self.out(h))
        return torch.stack(logits, 1)


def run():
    torch.manual_seed(0)
    model = ClippedRNN(10, 8, 0.01)
    norms = []

    def log_grad(module, grad_input, grad_output):
        norms.append(grad_output[0].norm().item())

    handle = model.out.register_full_backward_hook(log_grad)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(3):
        ids = torch.randint(10, (4, 7))
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    handle.remove()
    with torch.no_grad():
        sample = model(ids[:1]).argmax(-1)
    return model, losses, norms, sample


TRUTH = Truth()


def verify(out):
    model, losses, norms, sample = out
    assert len(norms) == 18 and all(n > 0 for n in norms)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert sample.shape == (1, 7) and all(0 < loss < 100 for loss in losses)
