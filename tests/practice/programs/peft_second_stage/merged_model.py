"""peft: after the first stage the adapter is merged, and the second stage is to tune the whole of the plain model."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Mixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Tagger(nn.Module):
    def __init__(self, vocab=40, dim=16, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Mixer(dim) for _ in range(2))
        self.head = nn.Linear(dim, tags)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batches(n, seed, shift):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        ids = torch.randint(0, 40, (4, 9), generator=g)
        yield ids, (ids + shift) % 5


def train(model, data, lr, decay=0.01):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)
    model.train()
    history = []
    for ids, tags in data:
        loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history.append(loss.item())
    return history


def stage_one(model):
    config = LoraConfig(r=2, lora_alpha=4, target_modules=["up", "down"], modules_to_save=["head"])
    model = get_peft_model(model, config)
    train(model, batches(3, seed=0, shift=0), lr=5e-3)
    return model


def stage_two(model):
    model = model.merge_and_unload()  # cause
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    assert not any("lora_" in name for name in start)
    train(model, batches(3, seed=1, shift=2), lr=1e-3)
    return {name for name, p in model.named_parameters() if not torch.equal(p, start[name])}


def run():
    torch.manual_seed(0)
    return stage_two(stage_one(Tagger()))


def verify(moved):
    assert moved == {"head.weight", "head.bias"}, moved


TRUTH = Truth(
    fault="peft froze the base model when the adapter was put in; all of the merged model but its head is still frozen",
    names=("requires_grad",),
    repair=("model = model.merge_and_unload()\nmodel.requires_grad_(True)",),
)
