"""Offloading: large activations are packed to disk by saved_tensors_hooks; Adam's moments live in numpy between steps."""

import os
import tempfile
import uuid
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class DiskPacker:
    def __init__(self, folder, limit):
        self.folder, self.limit, self.written = folder, limit, 0

    def pack(self, tensor):
        if tensor.numel() < self.limit or isinstance(tensor, nn.Parameter):
            return tensor
        path = os.path.join(self.folder, uuid.uuid4().hex)
        torch.save(tensor.detach(), path)
        self.written += 1
        return path

    def unpack(self, packed):
        return torch.load(packed) if isinstance(packed, str) else packed


class PagedAdam(torch.optim.Adam):
    def evict(self):
        self.paged = {}
        for p, state in self.state.items():
            self.paged[p] = {k: state.pop(k).numpy().copy() for k in ("exp_avg", "exp_avg_sq")}

    def fetch(self):
        for p, arrays in getattr(self, "paged", {}).items():
            self.state[p].update({k: torch.from_numpy(a) for k, a in arrays.items()})

    def step(self, closure=None):
        self.fetch()
        loss = super().step(closure)
        self.evict()
        return loss


def build():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(6, 6, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(6 * 36, 3),
    )


def data():
    g = torch.Generator().manual_seed(1)
    return [(torch.randn(8, 1, 6, 6, generator=g), torch.randint(3, (8,), generator=g)) for _ in range(3)]


def run():
    model = build()
    opt = PagedAdam(model.parameters(), lr=1e-2)
    with tempfile.TemporaryDirectory() as folder:
        packer = DiskPacker(folder, 500)
        for x, y in data():
            with torch.autograd.graph.saved_tensors_hooks(packer.pack, packer.unpack):
                loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model, opt, packer.written


def verify(outcome):
    model, opt, written = outcome
    assert written >= 6
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    adam = torch.optim.Adam(plain.parameters(), lr=1e-2)
    for x, y in data():
        adam.zero_grad()
        F.cross_entropy(plain(x), y).backward()
        adam.step()
    for a, b, s in zip(model.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-6) and not torch.equal(a, s)
        assert "exp_avg" not in opt.state[a]
        assert torch.allclose(torch.from_numpy(opt.paged[a]["exp_avg_sq"]), adam.state[b]["exp_avg_sq"], atol=1e-8)


TRUTH = Truth()
