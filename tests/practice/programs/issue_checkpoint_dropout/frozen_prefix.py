"""Healthy: non-reentrant checkpointing with dropout over blocks after a frozen stem, the gradient equal to that without checkpoints."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Mixer(nn.Module):
    def __init__(self, n_tok, dim, p=0.2):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(n_tok, 2 * n_tok), nn.GELU(), nn.Dropout(p), nn.Linear(2 * n_tok, n_tok))
        self.ch = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.ch(self.n2(x))


class MixerNet(nn.Module):
    def __init__(self, n_tok=4, dim=6, depth=2):
        super().__init__()
        self.stem = nn.Linear(3, dim).requires_grad_(False)
        self.blocks = nn.ModuleList(Mixer(n_tok, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 2)
        self.use_checkpoint = True

    def forward(self, x):
        x = self.stem(x)
        for blk in self.blocks:
            if self.use_checkpoint and torch.is_grad_enabled():
                x = checkpoint(blk, x, use_reentrant=False)
            else:
                x = blk(x)
        return self.head(x.mean(1))


def loss_and_grads(net, x, y, seed, use_checkpoint):
    net.use_checkpoint = use_checkpoint
    torch.manual_seed(seed)
    loss = nn.functional.cross_entropy(net(x), y)
    params = [p for p in net.parameters() if p.requires_grad]
    return loss, torch.autograd.grad(loss, params)


def run():
    torch.manual_seed(0)
    net = MixerNet().train()
    params = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=1e-2)
    start = [p.detach().clone() for p in params]
    worst = 0.0
    for step in range(3):
        x = torch.randn(8, 4, 3)
        y = (x.sum((1, 2)) > 0).long()
        _, plain = loss_and_grads(net, x, y, step, use_checkpoint=False)
        _, ckpt = loss_and_grads(net, x, y, step, use_checkpoint=True)
        worst = max(worst, max((a - b).abs().max().item() for a, b in zip(plain, ckpt)))
        for p, g in zip(params, ckpt):
            p.grad = g
        opt.step()
        opt.zero_grad()
    return worst, [not torch.equal(a, p) for a, p in zip(start, params)]


def verify(outcome):
    worst, moved = outcome
    assert worst < 1e-6
    assert all(moved)


TRUTH = Truth()
