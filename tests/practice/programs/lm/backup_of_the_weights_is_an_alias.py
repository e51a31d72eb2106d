"""Averaged weights are put in for the evaluation; what shall be put back afterwards was never copied."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GPT(nn.Module):
    def __init__(self, vocab=17, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, dim))
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h = self.wte(ids)
        return self.lm_head(h + self.mlp(h))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply_shadow(self, model):
        for n, p in model.named_parameters():
            self.backup[n] = p.data  # cause
            p.copy_(self.shadow[n])  # also

    @torch.no_grad()
    def restore(self, model):
        for n, p in model.named_parameters():
            p.copy_(self.backup[n])  # also
        self.backup = {}


def run():
    torch.manual_seed(0)
    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ema = EMA(model, decay=0.999)
    trained = []
    for step in range(4):
        ids = torch.randint(17, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        ema.update(model)
        if step % 2:
            before = model.lm_head.weight.detach().clone()
            ema.apply_shadow(model)
            with torch.no_grad():
                model(ids)
            ema.restore(model)
            trained.append((before, model.lm_head.weight.detach().clone()))
    return trained


def verify(trained):
    assert all(not torch.equal(before, after) for before, after in trained)


TRUTH = Truth(
    fault="the backup shares the memory of the weights, so the training's progress is lost at each evaluation",
    repair=("self.backup[n] = p.detach().clone()",),
)
