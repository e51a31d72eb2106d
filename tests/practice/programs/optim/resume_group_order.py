"""Checkpoints: the resumed job builds its groups in another order, so that momentum is given to other parameters of the same shape."""

import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.token_mix = nn.Linear(tokens, tokens, bias=False)
        self.channel_mix = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        x = x + self.token_mix(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(F.gelu(x))


class Mixer(nn.Module):
    def __init__(self, dim=8, tokens=8, depth=2, classes=8):
        super().__init__()
        self.embed = nn.Linear(dim, dim, bias=False)
        self.blocks = nn.ModuleList(MixerBlock(tokens, dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes, bias=False)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def build_optimizer(model, lr, momentum, weight_decay, named=None):
    named = list(model.named_parameters()) if named is None else named
    decay = [p for n, p in named if p.ndim > 1]
    no_decay = [p for n, p in named if p.ndim <= 1]
    return torch.optim.SGD(
        [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}],
        lr=lr,
        momentum=momentum,
    )


def layer_order(model):
    """Parameters from the head down, as the layer-wise decay of the new recipe wants them."""
    return sorted(model.named_parameters(), key=lambda item: (not item[0].startswith("head"), item[0]))


def train(model, optimizer, steps, generator):
    model.train()
    for _ in range(steps):
        x = torch.randn(8, 8, 8, generator=generator)
        y = x[:, 0].argmax(1)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save(path, model, optimizer, step):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)


def first_job(path, generator):
    model = Mixer()
    optimizer = build_optimizer(model, 0.1, 0.9, 1e-4)
    train(model, optimizer, 3, generator)
    save(path, model, optimizer, 3)
    return {n: optimizer.state[p]["momentum_buffer"].clone() for n, p in model.named_parameters()}


def second_job(path, generator):
    checkpoint = torch.load(path, weights_only=True)
    model = Mixer()
    model.load_state_dict(checkpoint["model"])
    optimizer = build_optimizer(model, 0.1, 0.9, 1e-4, named=layer_order(model))  # cause
    optimizer.load_state_dict(checkpoint["optimizer"])
    restored = {n: optimizer.state[p]["momentum_buffer"].clone() for n, p in model.named_parameters()}
    train(model, optimizer, 2, generator)
    return restored


def run():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        saved = first_job(path, generator)
        restored = second_job(path, generator)
    return saved, restored


def verify(outcome):
    saved, restored = outcome
    assert not all(torch.equal(saved[n], restored[n]) for n in saved)


TRUTH = Truth(
    fault="the optimizer state is loaded into groups of another parameter order; momentum buffers belong to other weights",
    names=("load_state_dict", "momentum_buffer"),
    repair=("optimizer = build_optimizer(model, 0.1, 0.9, 1e-4)",),
)
