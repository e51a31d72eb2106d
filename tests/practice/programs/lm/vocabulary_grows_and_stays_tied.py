"""A vocabulary is enlarged: the new table is tied to the output layer again."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.tie()

    def tie(self):
        self.lm_head.weight = self.wte.weight
        self.lm_head.out_features = self.wte.num_embeddings

    def add_tokens(self, n):
        old = self.wte
        self.wte = nn.Embedding(old.num_embeddings + n, old.embedding_dim)
        self.wte.weight.data[: old.num_embeddings] = old.weight.data
        self.tie()

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
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


TRUTH = Truth()
