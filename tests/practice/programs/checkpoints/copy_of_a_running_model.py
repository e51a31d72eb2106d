"""The averaged model is a deepcopy taken in mid-training, when the model still holds attention weights with a graph."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) * 0.1)
        self.key = nn.Linear(dim, dim, bias=False)
        self.last_attention = None

    def forward(self, x):
        att = torch.softmax(self.key(x) @ self.query / x.shape[-1] ** 0.5, dim=1)
        self.last_attention = att  # cause
        return (att[..., None] * x).sum(1)


class MILClassifier(nn.Module):
    """Multiple-instance learning: one label for a bag of patches."""

    def __init__(self, inp=5, dim=8):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(inp, dim), nn.Tanh())
        self.pool = AttentionPool(dim)
        self.fc = nn.Linear(dim, 1)

    def forward(self, bags):
        return self.fc(self.pool(self.embed(bags))).squeeze(-1)


class WeightAverage:
    def __init__(self, start):
        self.start, self.model = start, None

    @torch.no_grad()
    def update(self, epoch, model, decay=0.9):
        if epoch < self.start:
            return
        if self.model is None:
            self.model = copy.deepcopy(model).eval().requires_grad_(False)  # symptom
        for a, p in zip(self.model.parameters(), model.parameters()):
            a.lerp_(p, 1 - decay)


def run():
    torch.manual_seed(0)
    model, average = MILClassifier(), WeightAverage(start=1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        bags = torch.randn(6, 7, 5)
        labels = (bags[..., 0].amax(1) > 1).float()
        loss = F.binary_cross_entropy_with_logits(model(bags), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        average.update(epoch, model)
        top = model.pool.last_attention.argmax(1)
        print(f"epoch {epoch} loss {loss.item():.4f} top patches {top.tolist()}")
    return average.model


TRUTH = Truth(
    fault="a module keeps a tensor with a graph, which cannot be copied",
    raises="Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    names=("last_attention",),
    repair=("self.last_attention = att.detach()",),
)
