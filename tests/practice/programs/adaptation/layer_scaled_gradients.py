"""Discriminative fine-tuning with gradient hooks: they are registered at every step and multiply up."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, width=12, dim=16, depth=3):
        super().__init__()
        self.inp = nn.Linear(width, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = x + F.gelu(layer(x))
        return x


class DomainAdapter(nn.Module):
    def __init__(self, classes=4, decay=0.7):
        super().__init__()
        self.encoder = Encoder()
        self.classifier = nn.Linear(16, classes)
        self.domain = nn.Linear(16, 2)
        self.decay = decay

    def scale_gradients(self):
        """The deeper the layer, the gentler its gradient: decay ** distance from the top."""
        depth = len(self.encoder.layers)
        for i, layer in enumerate(self.encoder.layers):
            factor = self.decay ** (depth - i)
            for p in layer.parameters():
                p.register_hook(lambda grad, factor=factor: grad * factor)  # cause

    def training_step(self, source, labels, target):
        self.scale_gradients()  # also
        hs, ht = self.encoder(source), self.encoder(target)
        domain_logits = self.domain(torch.cat([hs, ht]).detach())
        domain_labels = torch.cat([torch.zeros(len(hs)), torch.ones(len(ht))]).long()
        coral = (hs.mean(0) - ht.mean(0)).square().sum()
        return (
            F.cross_entropy(self.classifier(hs), labels) + 0.1 * coral + F.cross_entropy(domain_logits, domain_labels)
        )


def run():
    torch.manual_seed(0)
    model = DomainAdapter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source, labels = torch.randn(16, 12), torch.randint(0, 4, (16,))
    target = torch.randn(16, 12) + 0.5
    ratios = []
    for _ in range(4):
        loss = model.training_step(source, labels, target)
        optimizer.zero_grad()
        loss.backward()
        first = model.encoder.layers[0].weight.grad.norm()
        ratios.append((first / model.classifier.weight.grad.norm()).item())
        optimizer.step()
    return ratios


def verify(ratios):
    # one more factor of 0.343 with every step
    assert ratios[3] < 0.1 * ratios[0]


TRUTH = Truth(
    fault="a hook is added to each parameter at every step; the factors accumulate and the gradients die out",
    names=("register_hook", "hook"),
    repair=("if not p._backward_hooks: p.register_hook(lambda grad, factor=factor: grad * factor)",),
)
