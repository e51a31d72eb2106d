"""Different warm-up lengths for encoder and decoder."""

import math
from functools import reduce

import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth, fails


class Seq2Seq(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.encoder = nn.ModuleDict({"emb": nn.Embedding(vocab, dim), "rnn": nn.GRU(dim, dim, batch_first=True)})
        self.decoder = nn.ModuleDict({"emb": nn.Embedding(vocab, dim), "rnn": nn.GRU(dim, dim, batch_first=True)})
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        _, h = self.encoder["rnn"](self.encoder["emb"](src))
        y, _ = self.decoder["rnn"](self.decoder["emb"](tgt), h)
        return self.generator(y)


def noam(step, warmup):
    step = max(1, step)
    return min(1 / math.sqrt(step), step / warmup**1.5) * math.sqrt(warmup)


def build_optim(model, lrs, warmups):
    named = [model.encoder, model.decoder, model.generator]
    opt = torch.optim.Adam([{"params": m.parameters(), "lr": lr} for m, lr in zip(named, lrs)], betas=(0.9, 0.98))
    sched = LambdaLR(opt, lr_lambda=[lambda step: noam(step, warmup) for warmup in warmups])  # cause
    return opt, sched


def run():
    torch.manual_seed(0)
    model = Seq2Seq()
    opt, sched = build_optim(model, lrs=(2e-3, 2e-3, 2e-3), warmups=(20, 10, 4))
    history = []
    for _ in range(5):
        src, tgt = torch.randint(0, 20, (4, 6)), torch.randint(0, 20, (4, 7))
        logits = model(src, tgt[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        history.append([g["lr"] for g in opt.param_groups])
    return history


TRUTH = Truth(
    fault="the lambdas all see the last warmup: every group gets the same schedule",
    names=("warmup",),
    repair=("sched = LambdaLR(opt, lr_lambda=[lambda step, warmup=warmup: noam(step, warmup) for warmup in warmups])",),
)


def well(out):
    assert len(set(out[-1])) == 3


verify = fails(well)
