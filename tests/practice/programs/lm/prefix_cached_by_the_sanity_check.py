"""A prefix is computed by a small net and kept; the first to ask for it is the sanity check under no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PrefixEncoder(nn.Module):
    def __init__(self, length=3, dim=8):
        super().__init__()
        self.embedding = nn.Embedding(length, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim))
        self._cached = None

    def forward(self, batch):
        if self._cached is None:
            ids = torch.arange(self.embedding.num_embeddings)
            self._cached = self.mlp(self.embedding(ids))  # cause
        return self._cached.expand(batch, -1, -1)  # also


class PrefixLM(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True)
        self.prefix = PrefixEncoder(dim=dim)
        self.head = nn.Linear(dim, vocab)
        for part in (self.wte, self.block):
            part.requires_grad_(False)

    def forward(self, ids):
        prefix = self.prefix(len(ids))
        h = self.block(torch.cat([prefix, self.wte(ids)], 1))
        return self.head(h[:, prefix.size(1) :])


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    losses = [F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).item() for ids in batches]
    model.train()
    return sum(losses) / len(losses)


def run():
    torch.manual_seed(0)
    model = PrefixLM()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=1e-2)
    data = [torch.randint(11, (4, 7)) for _ in range(3)]
    evaluate(model, data[:1])
    for ids in data:
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=False)
    return model


def verify(model):
    assert model.prefix.embedding.weight.grad is None and model.head.weight.grad is not None


TRUTH = Truth(
    fault="the prefix kept from the evaluation has no graph, so the prefix never learns",
    repair=("return self.mlp(self.embedding(ids)).expand(batch, -1, -1)",),
)
