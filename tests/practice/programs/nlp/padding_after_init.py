"""Language: the initialisation overwrites the row of zeros of padding_idx, which no gradient ever moves again."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from tests.practice.truth import Truth

PAD, VOCAB, DIM, LABELS = 0, 30, 12, 3


class DeepAverage(nn.Module):
    """Sums the words (padding adds nothing) and divides by the length."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        self.layers = nn.Sequential(nn.Linear(DIM, 16), nn.ReLU(), nn.Linear(16, LABELS))
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module):
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=1 / math.sqrt(module.embedding_dim))  # cause
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)

    def forward(self, ids, lengths):
        return self.layers(self.embedding(ids).sum(1) / lengths[:, None])


def sentences(n):
    rows = [torch.randint(1, VOCAB, (int(k),)) for k in torch.randint(2, 8, (n,))]
    lengths = torch.tensor([len(r) for r in rows]).float()
    return rows, pad_sequence(rows, batch_first=True, padding_value=PAD), lengths


def padding_matters(model):
    """The same sentence alone and in a batch with a longer one."""
    rows, ids, lengths = sentences(8)
    short = int(lengths.argmin())
    with torch.no_grad():
        together = model(ids, lengths)[short]
        alone = model(rows[short][None], lengths[short : short + 1])[0]
    return (together - alone).abs().max().item()


def run():
    torch.manual_seed(0)
    model = DeepAverage()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = model.embedding.weight[PAD].detach().clone()
    gaps = []
    for _ in range(4):
        rows, ids, lengths = sentences(16)
        labels = torch.tensor([int(r[0]) % LABELS for r in rows])
        loss = F.cross_entropy(model(ids, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gaps.append(padding_matters(model))
    return start, model.embedding.weight[PAD].detach(), gaps


def verify(outcome):
    start, end, gaps = outcome
    assert start.abs().max() > 0
    assert torch.equal(start, end)
    assert all(gap > 1e-4 for gap in gaps)


TRUTH = Truth(
    fault="normal_ fills the padding row too; its gradient is always zero, so it stays at random values",
    names=("padding_idx", "embedding"),
    values=True,
    repair=(
        "nn.init.normal_(module.weight, std=1 / math.sqrt(module.embedding_dim))\nif module.padding_idx is not None:\n    nn.init.zeros_(module.weight.data[module.padding_idx])",
    ),
)
