"""DP-SGD with per-example gradients from torch.func."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

from tests.practice.truth import Truth


class Tabular(nn.Module):
    def __init__(self, d=7, classes=3, p=0.2):
        super().__init__()
        self.inp, self.drop, self.out = nn.Linear(d, 20), nn.Dropout(p), nn.Linear(20, classes)

    def forward(self, x):
        return self.out(self.drop(F.relu(self.inp(x))))  # symptom


class DPSGD:
    def __init__(self, model, lr=0.1, clip=1.0, sigma=0.5):
        self.model, self.clip, self.sigma = model, clip, sigma
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)

    def example_loss(self, params, buffers, x, y):
        logits = functional_call(self.model, (params, buffers), (x.unsqueeze(0),))
        return F.cross_entropy(logits, y.unsqueeze(0))

    def per_example(self, x, y):
        params = {k: v.detach() for k, v in self.model.named_parameters()}
        buffers = dict(self.model.named_buffers())
        return vmap(grad(self.example_loss), in_dims=(None, None, 0, 0))(params, buffers, x, y)  # cause

    def step(self, x, y):
        grads = self.per_example(x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        for name, p in self.model.named_parameters():
            g = torch.einsum("b,b...->...", factor, grads[name])
            noise = self.sigma * self.clip * torch.randn_like(p)
            p.grad = (g + noise) / len(x)
        self.opt.step()
        return norms.mean().item()


def run():
    torch.manual_seed(0)
    algo = DPSGD(Tabular().train())
    return [algo.step(torch.randn(10, 7), torch.randint(0, 3, (10,))) for _ in range(3)]


TRUTH = Truth(
    fault="dropout inside vmap without saying how randomness is to be handled",
    raises="vmap: called random operation while in randomness error mode",
    names=("randomness",),
    repair=(
        "run = vmap(grad(self.example_loss), in_dims=(None, None, 0, 0), randomness='different')\nreturn run(params, buffers, x, y)",
    ),
)


def well(out):
    assert len(out) == 3
