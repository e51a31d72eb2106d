"""'Gradient checkpointing changes the result': with preserve_rng_state=False the recomputation draws another dropout mask."""

import functools

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth

# saves the RNG bookkeeping, which showed up in the profile
ckpt = functools.partial(checkpoint, use_reentrant=False, preserve_rng_state=False)  # cause


class FeedForward(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.up = nn.Linear(dim, 3 * dim)
        self.down = nn.Linear(3 * dim, dim)
        self.p = p
        self.mask = None

    def forward(self, x):
        h = torch.relu(self.up(x))
        h = nn.functional.dropout(h, self.p, self.training)
        if self.mask is None:
            self.mask = h.detach() != 0  # for the sparsity plot
        return self.down(h)


class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.ff = FeedForward(dim, 0.5)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.inp(x)
        self.ff.mask = None
        x = x + ckpt(self.ff, x)  # also
        return self.out(x).squeeze(-1)


def reference_gradient(net, x, y):
    """The gradient for the mask that the forward has used."""
    h = net.inp(x)
    f = torch.relu(net.ff.up(h)) * net.ff.mask / (1 - net.ff.p)
    loss = (net.out(h + net.ff.down(f)).squeeze(-1) - y).square().mean()
    return loss, torch.autograd.grad(loss, net.ff.down.weight)[0]


def run():
    torch.manual_seed(9)
    net = Net().train()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    out = []
    for step in range(3):
        x = torch.randn(10, 4)
        y = x.prod(1)
        loss = (net(x) - y).square().mean()
        ref_loss, want = reference_gradient(net, x, y)
        opt.zero_grad()
        loss.backward()
        out.append((torch.allclose(loss, ref_loss), (net.ff.down.weight.grad - want).abs().max().item()))
        opt.step()
    return out


def verify(out):
    assert all(same_loss for same_loss, _ in out)
    assert all(err > 1e-3 for _, err in out), out


TRUTH = Truth(
    fault="the checkpoint does not restore the RNG state, so backward uses another dropout mask than forward did",
    names=("preserve_rng_state",),
    repair=("ckpt = functools.partial(checkpoint, use_reentrant=False)",),
)
