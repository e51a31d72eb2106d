"""LARS by hand for genomics: the step binds the new value to the loop variable, the model's tensors stay; only biases, done in place, move."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PromoterNet(nn.Module):
    def __init__(self, filters=8):
        super().__init__()
        self.motif = nn.Conv1d(4, filters, 5)
        self.out = nn.Linear(filters, 1)

    def forward(self, dna):
        return self.out(F.relu(self.motif(dna)).amax(-1)).squeeze(-1)


class LARS:
    def __init__(self, params, lr=0.1, momentum=0.9, trust=0.02):
        self.params = list(params)
        self.lr, self.momentum, self.trust = lr, momentum, trust
        self.velocity = [torch.zeros_like(p) for p in self.params]

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.params, self.velocity):
            if p.ndim == 1:  # no layer-wise rate for biases
                p.sub_(self.lr * p.grad)
                continue
            rate = self.trust * p.norm() / (p.grad.norm() + 1e-9)
            v.mul_(self.momentum).add_(p.grad * rate)
            p = p - self.lr * v  # cause


def one_hot_dna(n, length=20):
    base = torch.randint(4, (n, length))
    active = (torch.rand(n) < 0.5).float()
    tata = torch.tensor([3, 0, 3, 0, 0])
    base[active > 0.5, 6:11] = tata
    return F.one_hot(base, 4).float().transpose(1, 2), active


def run():
    torch.manual_seed(0)
    model = PromoterNet()
    optimizer = LARS(model.parameters())
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    losses = []
    for _ in range(4):
        dna, active = one_hot_dna(48)
        loss = F.binary_cross_entropy_with_logits(model(dna), active)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {n: not torch.equal(start[n], p) for n, p in model.named_parameters()}, losses


def verify(outcome):
    moved, _ = outcome
    assert moved == {"motif.weight": False, "motif.bias": True, "out.weight": False, "out.bias": True}


TRUTH = Truth(
    fault="p = p - ... makes a new tensor and forgets it; the weights are never written",
    names=("weight",),
    repair=("p.sub_(self.lr * v)",),
)
