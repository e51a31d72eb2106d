"""SASRec scores items by its input table; warm started from item2vec, it scores by another."""

import torch
from torch import nn

from tests.practice.truth import Truth


class SASRec(nn.Module):
    def __init__(self, items=30, dim=8, length=6):
        super().__init__()
        self.item_emb = nn.Embedding(items + 1, dim, padding_idx=0)
        self.pos_emb = nn.Embedding(length, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.1, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(dim)
        self.scores = nn.Linear(dim, items + 1, bias=False)
        self.scores.weight = self.item_emb.weight  # tied

    def load_item2vec(self, vectors):
        """Start from vectors of co-occurrence; they are fine-tuned with the rest."""
        table = torch.cat([torch.zeros(1, vectors.shape[1]), vectors])
        self.item_emb = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)  # cause

    def forward(self, seq):
        length = seq.shape[1]
        x = self.item_emb(seq) + self.pos_emb.weight[:length]
        causal = torch.full((length, length), float("-inf")).triu(1)
        return self.scores(self.norm(self.block(x, src_mask=causal)))


def sessions(n=6, length=7, items=30):
    first = torch.randint(1, items + 1, (n, 1))
    seq = (first + torch.arange(length)) % items + 1
    return seq[:, :-1], seq[:, 1:]


def hit_rate(model, seq, target, k=5):
    model.eval()
    with torch.no_grad():
        top = model(seq)[:, -1].topk(k).indices
    model.train()
    return (top == target[:, -1:]).any(1).float().mean().item()


def run(steps=4):
    torch.manual_seed(0)
    model = SASRec()
    model.load_item2vec(torch.randn(30, 8) * 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
    for step in range(steps):
        seq, target = sessions()
        logits = model(seq)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} ce {loss.item():.3f} hr@5 {hit_rate(model, *sessions()):.2f}")
    return model


def verify(model):
    assert model.scores.weight is not model.item_emb.weight


TRUTH = Truth(
    fault="a new embedding module replaces the one whose weight was tied to the output layer",
    names=("scores.weight", "item_emb"),
    repair=("self.item_emb.weight.data.copy_(table)",),
)
