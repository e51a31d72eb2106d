"""Language: checkpointing without the random state draws another dropout mask in backward than in forward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth

VOCAB, DIM = 20, 16


class FeedForward(nn.Module):
    """Remembers which units the mask left alive."""

    def __init__(self, p=0.5):
        super().__init__()
        self.up = nn.Linear(DIM, 2 * DIM)
        self.drop = nn.Dropout(p)
        self.down = nn.Linear(2 * DIM, DIM)
        self.norm = nn.LayerNorm(DIM)
        self.alive = []

    def forward(self, x):
        h = self.drop(F.softplus(self.up(self.norm(x))))
        self.alive.append(h.detach() != 0)
        return x + self.down(h)


class Encoder(nn.Module):
    def __init__(self, depth=2, checkpointing=True):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList([FeedForward() for _ in range(depth)])
        self.head = nn.Linear(DIM, 2)
        self.checkpointing = checkpointing

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            if self.checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False)  # cause
            else:
                x = layer(x)
        return self.head(x.mean(1))


def reviews(n=6, length=8):
    return torch.randint(0, VOCAB, (n, length)), torch.randint(0, 2, (n,))


def run():
    torch.manual_seed(0)
    model = Encoder().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    same = []
    for _ in range(3):
        for layer in model.layers:
            layer.alive.clear()
        ids, y = reviews()
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for layer in model.layers:
            forward, again = layer.alive
            same.append(torch.equal(forward, again))
    return same, model.layers[0].up.weight.grad.abs().max().item()


def verify(outcome):
    same, size = outcome
    assert size > 0
    assert not any(same)


TRUTH = Truth(
    fault="preserve_rng_state=False: backward recomputes the block with a different dropout mask, the gradients are those of another network",
    names=("dropout", "preserve_rng_state"),
    repair=("x = checkpoint(layer, x, use_reentrant=False)",),
)
