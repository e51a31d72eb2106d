"""Activation checkpointing by hand: the segment runs without a graph, backward replays it with the saved RNG state and autocast mode."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Replay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *params):
        ctx.segment = segment
        ctx.rng = torch.get_rng_state()
        ctx.autocast = torch.is_autocast_enabled("cpu")
        ctx.save_for_backward(x)
        ctx.count = len(params)
        with torch.no_grad():
            return segment(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.rng)
        try:
            with torch.enable_grad(), torch.autocast("cpu", torch.bfloat16, enabled=ctx.autocast):
                leaf = x.detach().requires_grad_()
                out = ctx.segment(leaf)
        finally:
            torch.set_rng_state(now)
        params = list(ctx.segment.parameters())
        return None, *torch.autograd.grad(out, [leaf, *params], grad)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.4)
        self.mlp = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.mlp(F.gelu(self.drop(self.attn(x)))).float()


class Net(nn.Module):
    def __init__(self, replay):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.blocks = nn.ModuleList([Block(8) for _ in range(3)])
        self.head = nn.Linear(8, 2)
        self.replay = replay

    def forward(self, x):
        x = self.stem(x)
        for i, block in enumerate(self.blocks):
            with torch.autocast("cpu", torch.bfloat16, enabled=i == 1):
                x = Replay.apply(block, x, *block.parameters()) if self.replay else block(x)
        return self.head(x)


def train(replay):
    torch.manual_seed(0)
    net = Net(replay)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    grads = []
    for _ in range(3):
        x, y = torch.randn(6, 4), torch.randint(2, (6,))
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        grads.append([p.grad.clone() for p in net.parameters()])
        opt.step()
    return grads


def run():
    return train(True)


def verify(grads):
    for a, b in zip(grads, train(False)):
        assert all(torch.allclose(x, y, atol=1e-6) and x.any() for x, y in zip(a, b))
    assert not torch.equal(grads[0][0], grads[1][0])


TRUTH = Truth()
