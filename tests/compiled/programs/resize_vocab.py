"""Adds tokens to a compiled language model before fine-tuning."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab, d=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.mix = nn.GRUCell(d, d)
        self.out = nn.Linear(d, vocab, bias=False)

    def forward(self, t):
        h = torch.zeros(t.shape[0], self.emb.embedding_dim)
        outs = []
        for e in self.emb(t).unbind(1):
            h = self.mix(e, h)
            outs.append(h)
        return self.out(torch.stack(outs, 1))


def grow(layer, n):
    with torch.no_grad():
        w = layer.weight
        extra = w.mean(0, keepdim=True).expand(n, -1)
        layer.weight = nn.Parameter(torch.cat([w, extra]))


def run():
    torch.manual_seed(0)
    model = LM(10)
    lm = torch.compile(model, backend=BACKEND)
    groups = list(model.parameters())  # cause
    grow(model.emb, 2)
    grow(model.out, 2)
    start = model.out.weight.detach().clone()
    opt = torch.optim.SGD(groups, lr=0.5)  # also
    for _ in range(3):
        t = torch.randint(0, 12, (4, 6))
        logits = lm(t[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return start, model


def right(out):
    start, model = out
    assert not torch.equal(start, model.out.weight), "the grown head never moved"


TRUTH = Truth(
    fault="the groups were taken before the vocabulary weights were replaced",
    names=("emb.weight", "out.weight"),
    repair=("groups = model.parameters()",),
)
