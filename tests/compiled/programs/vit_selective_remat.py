"""Vision transformer: encoder layers under selective activation checkpointing, patch embedding and head compiled."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="one pair of contexts, with one cache, serves all layers; a pair holds for one checkpointed call",
    raises="Trying to backward an extra time",
    names=("context_fn", "create_selective_checkpoint_contexts", "contexts"),
    repair=("self.contexts = lambda: create_selective_checkpoint_contexts(keep_products)",),
)


def keep_products(ctx, op, *args, **kwargs):
    if op in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x)).flatten(0, 1))).view_as(x)


class ViT(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.patch = torch.compile(nn.Conv2d(1, width, 4, stride=4), backend=BACKEND)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.head = torch.compile(nn.Linear(width, 5), backend=BACKEND)
        pair = create_selective_checkpoint_contexts(keep_products)  # also
        self.contexts = lambda: pair  # cause

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False, context_fn=self.contexts)
        return self.head(x.mean(1))


def setup():
    torch.manual_seed(0)


def run():
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        images, labels = torch.randn(6, 1, 12, 12), torch.randint(5, (6,))
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses
