"""A GPT loop with decay groups, warm-up, accumulation and clipping that is stopped, saved and resumed."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.mlp(h))


def configure(model, lr=1e-2):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    plain = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 2) * (1 + math.cos(s / 10)) / 2)
    return opt, sched


def train(model, opt, sched, batches, accumulate=2):
    losses = []
    for i, ids in enumerate(batches, start=1):
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()) / accumulate
        loss.backward()
        losses.append(loss.detach())
        if i % accumulate == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
    return torch.stack(losses).sum().item()


def run():
    torch.manual_seed(0)
    batches = [torch.randint(12, (3, 7)) for _ in range(8)]
    model = LM()
    opt, sched = configure(model)
    train(model, opt, sched, batches[:4])
    saved = copy.deepcopy({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()})
    train(model, opt, sched, batches[4:])

    resumed = LM()
    resumed.load_state_dict(saved["model"])
    opt, sched = configure(resumed)
    opt.load_state_dict(saved["opt"])
    sched.load_state_dict(saved["sched"])
    train(resumed, opt, sched, batches[4:])
    return model, resumed


def verify(out):
    one, two = (list(model.parameters()) for model in out)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


TRUTH = Truth()
