"""A vocabulary is enlarged: the input table is new, the output layer keeps the old one."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def add_tokens(self, n):
        old = self.wte
        self.wte = nn.Embedding(old.num_embeddings + n, old.embedding_dim)  # cause
        self.wte.weight.data[: old.num_embeddings] = old.weight.data

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.lm_head(self.block(self.wte(ids), src_mask=mask))


def run():
    torch.manual_seed(0)
    model = TinyLM()
    model.add_tokens(2)
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(3):
        ids = torch.randint(22, (4, 7))
        target = ids[:, 1:].masked_fill(ids[:, 1:] >= 20, -100)
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def verify(model):
    assert model.wte.weight is not model.lm_head.weight


TRUTH = Truth(
    fault="input table and output layer are no longer tied",
    names=("lm_head", "wte"),
    repair=(
        "self.wte = self.lm_head = None\nself.wte = nn.Embedding(old.num_embeddings + n, old.embedding_dim)\nself.lm_head = nn.Linear(old.embedding_dim, old.num_embeddings + n, bias=False)\nself.lm_head.weight = self.wte.weight",
    ),
)
