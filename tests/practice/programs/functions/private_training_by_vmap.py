"""Private SGD by vmap: per-sample gradients of the weights as they are, clipped, noised and handed to the optimizer."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, 2))

    def forward(self, ids):
        return self.ff(self.embed(ids).mean(-2))


def private_step(model, opt, ids, labels, bound=1.0, noise=0.1):
    def loss_of(params, x, y):
        return F.cross_entropy(functional_call(model, params, (x,))[None], y[None])

    params = {n: p.detach() for n, p in model.named_parameters()}
    grads, losses = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0))(params, ids, labels)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (bound / (norms + 1e-6)).clamp(max=1.0)
    for name, p in model.named_parameters():
        p.grad = torch.einsum("b,b...->...", factor, grads[name]) / len(ids)
        p.grad += noise * bound * torch.randn_like(p.grad) / len(ids)
    opt.step()
    opt.zero_grad()
    return losses.mean().item()


def run():
    torch.manual_seed(0)
    model = Classifier()
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    ids, labels = torch.randint(20, (6, 5)), torch.randint(2, (6,))
    return [private_step(model, opt, ids, labels) for _ in range(3)]


def verify(losses):
    assert losses[0] != losses[2]


TRUTH = Truth()
