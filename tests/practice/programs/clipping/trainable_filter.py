"""Recurrent tagger with a frozen embedding and gradient clipping."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=12, hidden=20, tags=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.embed.weight.requires_grad = False
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, tags)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.tag(h)


def total_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()


def train(model, batches, lr=0.5, max_norm=0.1):
    params = filter(lambda p: p.requires_grad, model.parameters())  # cause
    optimizer = torch.optim.SGD(params, lr=lr)
    norms = []
    model.train()
    for ids, tags in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).transpose(1, 2), tags)
        loss.backward()
        nn.utils.clip_grad_norm_(params, max_norm)  # also
        norms.append(total_norm(model))
        optimizer.step()
    return norms


def run():
    torch.manual_seed(0)
    model = Tagger()
    batches = [(torch.randint(0, 50, (4, 9)), torch.randint(0, 6, (4, 9))) for _ in range(5)]
    return train(model, batches)


TRUTH = Truth(
    fault="the filter is used up by the optimizer: nothing is left to clip",
    names=("params",),
    repair=("params = [p for p in model.parameters() if p.requires_grad]",),
)


def well(out):
    assert max(out) <= 0.1 + 1e-5


verify = fails(well)
