"""'Loss jumps after resume': model and optimizer are restored, but not the scheduler, which starts its warm-up anew."""

import os
import tempfile

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from tests.practice.truth import Truth


class Args:
    lr = 0.02
    warmup = 2
    total = 12
    every = 5


class Head(nn.Module):
    def __init__(self, n_in=8, n_out=3):
        super().__init__()
        self.a = nn.Linear(n_in, 16)
        self.b = nn.Linear(16, n_out)

    def forward(self, x):
        return self.b(nn.functional.silu(self.a(x)))


def build(args):
    torch.manual_seed(1)
    model = Head()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = SequentialLR(
        opt,
        [LinearLR(opt, 0.1, 1.0, args.warmup), CosineAnnealingLR(opt, args.total - args.warmup)],
        milestones=[args.warmup],
    )
    return model, opt, sched


def train(model, opt, sched, steps, path=None):
    lrs = []
    for _ in range(steps):
        x = torch.randn(8, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        lrs.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
    if path:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, path)
    return lrs


def resume(path, args):
    ckpt = torch.load(path)
    model, opt, sched = build(args)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])  # cause
    return model, opt, sched


def run():
    args = Args()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "last.ckpt")
        lrs = train(*build(args), args.every, path)
        model, opt, sched = resume(path, args)
        lrs += train(model, opt, sched, 3)
    whole = train(*build(args), args.every + 3)
    return lrs, whole


def verify(outcome):
    lrs, whole = outcome
    assert lrs[:5] == whole[:5]
    assert any(abs(a - b) > 1e-4 for a, b in zip(lrs[5:], whole[5:])), (lrs, whole)


TRUTH = Truth(
    fault="the scheduler's state is saved but not loaded on resume, so the schedule begins again at step 0",
    names=("sched",),
    repair=('opt.load_state_dict(ckpt["opt"])\nsched.load_state_dict(ckpt["sched"])',),
)
