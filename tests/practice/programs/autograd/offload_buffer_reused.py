"""Activation offload by saved_tensors_hooks: one host buffer per shape, so layers of one width share it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from tests.practice.truth import Truth


class HostOffload:
    """Copies saved activations into preallocated (pinned, on a real machine) memory."""

    def __init__(self):
        self.buffers = {}

    def pack(self, tensor):
        if isinstance(tensor, nn.Parameter) or tensor.ndim != 2 or not tensor.is_floating_point():
            return tensor
        key = tuple(tensor.shape), tensor.dtype
        if key not in self.buffers:  # cause
            self.buffers[key] = torch.empty(tensor.shape, dtype=tensor.dtype)
        host = self.buffers[key]
        host.copy_(tensor.detach())
        return host

    def unpack(self, packed):
        return packed

    def __call__(self):
        return saved_tensors_hooks(self.pack, self.unpack)


class DeepMLP(nn.Module):
    def __init__(self, dim=8, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x).squeeze(-1)


def gradient_error(model, x, y):
    true = torch.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))
    pairs = zip(model.parameters(), true)
    return max(((p.grad - t).norm() / t.norm()).item() for p, t in pairs)


def run():
    torch.manual_seed(0)
    model = DeepMLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    offload = HostOffload()
    errors = []
    for _ in range(3):
        x = torch.randn(16, 8)
        y = x[:, 0].sin()
        optimizer.zero_grad()
        with offload():
            loss = F.mse_loss(model(x), y)
        loss.backward()
        errors.append(gradient_error(model, x, y))
        optimizer.step()
    return errors


def verify(outcome):
    assert min(outcome) > 0.1


TRUTH = Truth(
    fault="pack() reuses the buffer of a shape while its contents are still to be unpacked",
    names=("pack",),
    repair=("if True:",),
)
