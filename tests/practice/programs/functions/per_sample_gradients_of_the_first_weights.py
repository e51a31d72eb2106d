"""Private SGD by vmap: the weights for functional_call are copied once, so every step uses the gradient of the start."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, 2))

    def forward(self, ids):
        return self.ff(self.embed(ids).mean(-2))


class PrivateTrainer:
    def __init__(self, model, lr=0.5, bound=1.0, noise=0.1):
        self.model, self.bound, self.noise = model, bound, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr)
        self.params = {n: p.detach().clone() for n, p in model.named_parameters()}  # cause
        self.per_sample = vmap(grad(self.loss), in_dims=(None, 0, 0))

    def loss(self, params, ids, label):
        logits = functional_call(self.model, params, (ids,))
        return F.cross_entropy(logits[None], label[None])

    def step(self, ids, labels):
        grads = self.per_sample(self.params, ids, labels)  # also
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.bound / (norms + 1e-6)).clamp(max=1.0)
        for name, p in self.model.named_parameters():
            summed = torch.einsum("b,b...->...", factor, grads[name])
            p.grad = (summed + self.noise * self.bound * torch.randn_like(summed)) / len(ids)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return grads["ff.2.weight"].sum(0)


def run():
    torch.manual_seed(0)
    trainer = PrivateTrainer(Classifier())
    ids, labels = torch.randint(20, (6, 5)), torch.randint(2, (6,))
    return [trainer.step(ids, labels) for _ in range(3)]


def verify(sums):
    assert torch.equal(sums[0], sums[2])


TRUTH = Truth(
    fault="gradients of the weights of the start",
    repair=("self.params = {n: p.detach() for n, p in model.named_parameters()}",),
)
