"""Activation compression: saved tensors go to half precision or to disk, gradients stay within rounding."""

import os
import tempfile
import uuid

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from tests.practice.truth import Truth


class OnDisk:
    def __init__(self, folder, tensor):
        self.path = os.path.join(folder, f"{uuid.uuid4().hex}.pt")
        torch.save(tensor, self.path)

    def load(self):
        return torch.load(self.path)

    def __del__(self):
        if os.path.exists(self.path):
            os.remove(self.path)


class Compressor:
    def __init__(self, folder, threshold=100):
        self.folder, self.threshold = folder, threshold
        self.counts = {"disk": 0, "half": 0, "kept": 0}

    def pack(self, t):
        if isinstance(t, nn.Parameter) or not t.is_floating_point() or t._base is not None:
            self.counts["kept"] += 1
            return t
        if t.numel() >= self.threshold:
            self.counts["disk"] += 1
            return OnDisk(self.folder, t.detach())
        self.counts["half"] += 1
        return t.detach().to(torch.bfloat16), t.dtype

    def unpack(self, packed):
        if isinstance(packed, OnDisk):
            return packed.load()
        if isinstance(packed, tuple):
            return packed[0].to(packed[1])
        return packed


def net():
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 5), nn.Sigmoid(), nn.Linear(5, 1))


def run():
    torch.manual_seed(0)
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        compressor = Compressor(folder)
        for _ in range(3):
            x = torch.randn(16, 6)
            y = x[:, :1]
            true = torch.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))
            optimizer.zero_grad()
            with saved_tensors_hooks(compressor.pack, compressor.unpack):
                loss = F.mse_loss(model(x), y)
            loss.backward()
            errors += [((p.grad - t).norm() / t.norm()).item() for p, t in zip(model.parameters(), true)]
            optimizer.step()
            del loss
        left = os.listdir(folder)
    return errors, compressor.counts, left


def verify(outcome):
    errors, counts, left = outcome
    assert max(errors) < 0.02
    assert min(counts.values()) > 0 and not left


TRUTH = Truth()
