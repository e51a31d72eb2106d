"""Activation checkpointing of blocks with dropout: the second forward draws another mask."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class FeedForward(nn.Module):
    def __init__(self, dim, hidden, p):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return x + self.down(self.drop(F.gelu(self.up(self.norm(x)))))


class Stack(nn.Module):
    def __init__(self, vocab=32, dim=16, depth=2, p=0.5, checkpointing=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(FeedForward(dim, 4 * dim, p) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)
        self.checkpointing = checkpointing

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            if self.checkpointing and self.training:
                # stashing the generator state is slow, so it was turned off
                x = checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False)  # cause
            else:
                x = layer(x)
        return self.head(x)


def loss_of(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def gradients(model, ids, seed):
    torch.manual_seed(seed)
    model.zero_grad()
    loss = loss_of(model, ids)
    loss.backward()
    return loss.item(), model.layers[0].up.weight.grad.clone()


def run():
    torch.manual_seed(0)
    model = Stack()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(3):
        ids = torch.randint(0, 32, (4, 9))
        optimizer.zero_grad()
        loss_of(model, ids).backward()
        optimizer.step()

    ids = torch.randint(0, 32, (4, 9))
    with_checkpoint = gradients(model, ids, seed=1)
    model.checkpointing = False
    without = gradients(model, ids, seed=1)
    return with_checkpoint, without


def verify(outcome):
    (loss, grad), (true_loss, true_grad) = outcome
    assert loss == true_loss
    assert not torch.allclose(grad, true_grad, rtol=1e-2, atol=1e-6)


TRUTH = Truth(
    fault="checkpoint without the generator's state: dropout masks differ in the recomputation, gradients are wrong",
    names=("preserve_rng_state", "checkpoint"),
    repair=("x = checkpoint(layer, x, use_reentrant=False)",),
)
