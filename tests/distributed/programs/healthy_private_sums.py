"""Differentially private SGD: gradients of samples are clipped, summed over all ranks, and rank 0 adds the noise of all."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.distributed.truth import Truth

CLIP, NOISE, LOT = 1.0, 0.8, 16


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def loss_of_one(params, model, x, y):
    return F.cross_entropy(functional_call(model, params, (x[None],)), y[None])


def per_sample_gradients(model, x, y):
    params = {name: p.detach() for name, p in model.named_parameters()}
    return vmap(lambda a, b: grad(loss_of_one)(params, model, a, b))(x, y)


def clipped_sum(grads):
    norms = torch.stack([v.flatten(1).norm(dim=1) for v in grads.values()]).norm(dim=0)
    factor = (CLIP / (norms + 1e-6)).clamp(max=1.0)
    return {name: torch.einsum("b,b...->...", factor, v) for name, v in grads.items()}


class PrivateStep:
    def __init__(self, model, opt, noise_seed):
        self.model, self.opt = model, opt
        self.noise = torch.Generator().manual_seed(noise_seed)

    def __call__(self, x, y):
        sums = clipped_sum(per_sample_gradients(self.model, x, y))
        for name, p in self.model.named_parameters():
            total = sums[name]
            if dist.get_rank() == 0:
                total = total + NOISE * CLIP * torch.randn(p.shape, generator=self.noise)
            dist.all_reduce(total)
            p.grad = total / LOT
        self.opt.step()


def poisson_batch(data, labels, rate, g):
    picked = torch.rand(len(data), generator=g) < rate
    return data[picked], labels[picked]


def run():
    torch.manual_seed(0)
    model = Classifier()
    data, labels = torch.randn(48, 6), torch.randint(0, 3, (48,))
    rank, world = dist.get_rank(), dist.get_world_size()
    data, labels = data[rank::world], labels[rank::world]
    step = PrivateStep(model, torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5), noise_seed=1234)
    g = torch.Generator().manual_seed(90 + rank)
    for _ in range(4):
        step(*poisson_batch(data, labels, LOT / 48, g))
    return [round(p.norm().item(), 6) for p in model.parameters()]


TRUTH = Truth(values=True)
