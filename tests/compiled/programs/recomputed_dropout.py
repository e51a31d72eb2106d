"""Language: the compiled feed-forward blocks of a small model are checkpointed to save memory."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the random state is not kept, so the recomputed block draws another dropout mask: wrong gradients",
    names=("preserve_rng_state", "checkpoint", "dropout"),
    repair=("hidden = checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=True)",),
)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.scale = nn.Parameter(torch.ones(16, 7, width))

    def forward(self, x):
        h = self.narrow(torch.nn.functional.gelu(self.wide(x)))
        return x + nn.functional.dropout(h * self.scale, 0.5, self.training)


def setup():
    torch.manual_seed(0)


def run():
    embed, head = nn.Embedding(20, 8), nn.Linear(8, 20)
    layers = nn.ModuleList(Block(8) for _ in range(2))
    blocks = [torch.compile(layer, backend=BACKEND) for layer in layers]
    optimizer = torch.optim.AdamW([*embed.parameters(), *layers.parameters(), *head.parameters()], lr=1e-3)
    share = []
    for _ in range(2):
        ids = torch.randint(20, (16, 8))
        hidden = embed(ids[:, :-1])
        for block in blocks:
            entered = hidden
            hidden = checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=False)  # cause
        kept = (hidden != entered).detach()
        loss = nn.functional.cross_entropy(head(hidden).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # symptom
        share.append(((layers[-1].scale.grad != 0) != kept).float().mean().item())
        optimizer.step()
    return share


def verify(outcome):
    assert min(outcome) > 0.2
