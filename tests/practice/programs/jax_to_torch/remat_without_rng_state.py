"""JAX to PyTorch: jax.checkpoint replays its keys; torch's checkpoint with preserve_rng_state=False draws another dropout mask in backward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class FeedForward(nn.Module):
    def __init__(self, dim=12, rate=0.5):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.drop = nn.Dropout(rate)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(self.drop(F.gelu(self.up(self.norm(x)))))


class Mixer(nn.Module):
    def __init__(self, dim=12, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(FeedForward(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 3)
        self.hidden = None

    def remat(self, layer, x):
        return checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False)  # cause

    def forward(self, x):
        for layer in self.layers:
            x = self.remat(layer, x)
        return self.out(x)


def run():
    torch.manual_seed(0)
    model = Mixer()
    masks = []
    for layer in model.layers:
        layer.drop.register_forward_hook(lambda module, args, output: masks.append(output.detach() == 0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        masks.clear()
        x, y = torch.randn(8, 12), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    forward, recomputed = masks[:2], masks[:1:-1]
    return forward, recomputed


def verify(outcome):
    forward, recomputed = outcome
    assert not all(torch.equal(a, b) for a, b in zip(forward, recomputed, strict=True))


TRUTH = Truth(
    fault="backward recomputes the blocks with other dropout masks than forward used: wrong gradients",
    names=("checkpoint",),
    repair=("return checkpoint(layer, x, use_reentrant=False)",),
)
