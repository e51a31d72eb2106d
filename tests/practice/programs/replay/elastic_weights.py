"""EWC: the penalty is computed from `p.data`, so it adds to the loss and holds no weight back."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EWC:
    def __init__(self, model, batches, strength=50.0):
        self.model, self.strength = model, strength
        self.anchor = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.fisher = self.estimate(batches)

    def estimate(self, batches):
        fisher = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        for x, _ in batches:
            log_probs = F.log_softmax(self.model(x), dim=1)
            sampled = torch.distributions.Categorical(logits=log_probs.detach()).sample()
            grads = torch.autograd.grad(F.nll_loss(log_probs, sampled), list(self.model.parameters()))
            for (n, _), g in zip(self.model.named_parameters(), grads):
                fisher[n] += g**2 / len(batches)
        return fisher

    def penalty(self):
        total = 0.0
        for n, p in self.model.named_parameters():
            total = total + (self.fisher[n] * (p.data - self.anchor[n]) ** 2).sum()  # cause
        return self.strength * total


def permuted_task(seed, n=3):
    gen = torch.Generator().manual_seed(seed)
    order = torch.randperm(8, generator=gen)
    for _ in range(n):
        x = torch.randn(16, 8, generator=gen)
        yield x[:, order], (x[:, :2].sum(1) > 0).long()


def train(model, opt, batches, ewc=None):
    penalty = torch.zeros(())
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        if ewc is not None:
            penalty = ewc.penalty()
            loss = loss + penalty
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"loss {loss.item():.4f} penalty {penalty.item():.5f}")
    return penalty


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first = list(permuted_task(1))
    train(model, opt, first)
    ewc = EWC(model, first)
    penalty = train(model, opt, permuted_task(2), ewc)
    with torch.no_grad():
        acc = sum((model(x).argmax(1) == y).float().mean() for x, y in first) / len(first)
    print(f"first task afterwards {acc:.2f}")
    return penalty


def verify(out):
    assert not out.requires_grad and out > 0


TRUTH = Truth(
    fault="the penalty is a constant for the weights",
    names=("penalty",),
    repair=("total = total + (self.fisher[n] * (p - self.anchor[n]) ** 2).sum()",),
)
