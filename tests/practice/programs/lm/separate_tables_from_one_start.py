"""Input and output tables start from the same pretrained vectors and are meant to part."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        vocab, dim = vectors.shape
        self.wte = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight.data.copy_(vectors)

    def forward(self, ids):
        return self.lm_head(self.mix(self.wte(ids))[0])


def run():
    torch.manual_seed(0)
    model = TinyLM(torch.randn(20, 8))
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(3):
        ids = torch.randint(20, (4, 7))
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


TRUTH = Truth()
