"""Top-k compression whose residual is kept under the gradient's id: no later step finds it."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth

residuals = {}


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def compressed(name, grad, ratio=0.25):
    full = grad + residuals.get(name, 0)
    flat = full.flatten()
    keep = flat.abs().topk(max(1, int(ratio * flat.numel()))).indices
    sparse = torch.zeros_like(flat)
    sparse[keep] = flat[keep]
    sparse = sparse.view_as(grad)
    return sparse, full - sparse


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        opt.zero_grad(set_to_none=True)
        model(torch.randn(5, 6, generator=g)).square().mean().backward()
        for name, p in model.named_parameters():
            sparse, rest = compressed(name, p.grad)  # also
            residuals[name, step] = rest  # cause
            dist.all_reduce(sparse)
            p.grad = sparse / dist.get_world_size()
        opt.step()


TRUTH = Truth(fault="what is not sent is lost", rule="AG601|AG305|AG306", where="any")
