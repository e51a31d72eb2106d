"""Gradient histograms by hooks: the logger takes the logarithm in place, so it is what the optimizer gets."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

BINS = 10


class CharModel(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 12, batch_first=True)
        self.out = nn.Linear(12, vocab)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


class GradientHistograms:
    """log10 |g| histograms of each weight matrix."""

    def __init__(self, model):
        self.counts = {}
        self.handles = []
        for name, p in model.named_parameters():
            if p.ndim == 2 and "rnn" not in name:
                self.handles.append(p.register_hook(self.hook(name)))

    def hook(self, name):
        def record(grad):
            magnitude = grad.detach().abs_().clamp_(min=1e-12)  # cause
            self.counts[name] = torch.histc(magnitude.log10(), BINS, -12, 2)

        return record


def batches(n):
    g = torch.Generator().manual_seed(3)
    for _ in range(n):
        yield torch.randint(0, 11, (4, 7), generator=g)


def run():
    torch.manual_seed(0)
    model = CharModel()
    monitor = GradientHistograms(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    smallest = []
    for tokens in batches(3):
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        smallest.append(min(model.out.weight.grad.min().item(), model.embed.weight.grad.min().item()))
        optimizer.step()
    assert set(monitor.counts) == {"embed.weight", "out.weight"}
    return smallest


def verify(outcome):
    # no entry of the gradients is negative any more
    assert all(s > 0 for s in outcome)


TRUTH = Truth(
    fault="the logging hook changes the gradient in place (abs_, clamp_ on a detached alias)",
    names=("abs_",),
    repair=("magnitude = grad.detach().abs().clamp_(min=1e-12)",),
)
