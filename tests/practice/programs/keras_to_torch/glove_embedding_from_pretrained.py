"""Keras to PyTorch: Embedding(weights=[glove], trainable=True) became nn.Embedding.from_pretrained(glove), which freezes by default."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def load_glove(vocab, dim):
    vectors = torch.randn(vocab, dim, generator=torch.Generator().manual_seed(7))
    vectors[0] = 0.0
    return vectors


class TextCNN(nn.Module):
    def __init__(self, glove, filters=8, classes=4):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(glove, padding_idx=0)  # cause
        self.convs = nn.ModuleList(nn.Conv1d(glove.shape[1], filters, k) for k in (2, 3))
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(2 * filters, classes)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=-1) for conv in self.convs]
        return self.out(self.dropout(torch.cat(pooled, dim=1)))


def compile_model(model):
    """Embeddings learn ten times slower than the rest."""
    rest = [p for name, p in model.named_parameters() if not name.startswith("embedding")]
    return torch.optim.Adam(
        [{"params": model.embedding.parameters(), "lr": 1e-3}, {"params": rest, "lr": 1e-2}],
    )


def run():
    torch.manual_seed(0)
    glove = load_glove(30, 6)
    model = TextCNN(glove.clone())
    optimizer = compile_model(model)
    for _ in range(3):
        tokens = torch.randint(1, 30, (8, 7))
        optimizer.zero_grad()
        F.cross_entropy(model(tokens), tokens[:, 0] % 4).backward()
        optimizer.step()
    return glove, model.embedding.weight.detach()


def verify(outcome):
    glove, weight = outcome
    assert torch.equal(glove, weight)


TRUTH = Truth(
    minor=True,
    fault="the embedding is in the optimizer but frozen: from_pretrained has freeze=True",
    names=("embedding",),
    repair=("self.embedding = nn.Embedding.from_pretrained(glove, freeze=False, padding_idx=0)",),
)
