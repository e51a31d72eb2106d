"""Extend the vocabulary of a small decoder with tied output weights and go on training."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class TinyDecoder(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        h, _ = self.mix(self.wte(ids))
        return self.lm_head(h)


def resize_token_embeddings(model, new_size):
    old = model.wte
    old_size, dim = old.weight.shape
    grown = nn.Embedding(new_size, dim)
    with torch.no_grad():
        grown.weight.normal_(std=0.02)
        grown.weight[:old_size] = old.weight
    model.wte = grown
    head = nn.Linear(dim, new_size, bias=False)
    with torch.no_grad():
        head.weight.copy_(grown.weight)
    model.lm_head = head  # cause
    return model


def finetune(model, batches, lr=5e-3):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    for ids in batches:
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    return loss.item()


def run():
    torch.manual_seed(1)
    model = TinyDecoder(40)
    finetune(model, [torch.randint(0, 40, (4, 9)) for _ in range(3)])
    resize_token_embeddings(model, 44)
    finetune(model, [torch.randint(0, 44, (4, 9)) for _ in range(6)])
    return model


TRUTH = Truth(
    fault="output weights no longer tied after the resize",
    names=("lm_head.weight", "wte.weight"),
    repair=("model.lm_head = head\nmodel.tie_weights()",),
)


def well(out):
    assert torch.equal(out.lm_head.weight, out.wte.weight)


verify = fails(well)
