"""State spaces: the selective scan writes into a preallocated output, slice by slice (healthy)."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class ModelArgs:
    d_model: int = 8
    n_layer: int = 2
    vocab_size: int = 12
    d_state: int = 4
    expand: int = 2
    dt_rank: int = 2
    d_conv: int = 3
    lr: float = 5e-3


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.a, d = a, a.expand * a.d_model
        self.in_proj = nn.Linear(a.d_model, 2 * d, bias=False)
        self.conv1d = nn.Conv1d(d, d, a.d_conv, groups=d, padding=a.d_conv - 1)
        self.x_proj = nn.Linear(d, a.dt_rank + 2 * a.d_state, bias=False)
        self.dt_proj = nn.Linear(a.dt_rank, d)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, a.d_state + 1).float()).repeat(d, 1))
        self.A_log._no_weight_decay = True
        self.D = nn.Parameter(torch.ones(d))
        self.D._no_weight_decay = True
        self.out_proj = nn.Linear(d, a.d_model, bias=False)
        dt = torch.exp(torch.rand(d) * (math.log(0.1) - math.log(0.001)) + math.log(0.001))
        with torch.no_grad():
            self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))

    def forward(self, x):
        n = x.size(1)
        x, res = self.in_proj(x).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[:, :, :n].transpose(1, 2))
        delta, B, C = self.x_proj(x).split([self.a.dt_rank, self.a.d_state, self.a.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        y = self.selective_scan(x, delta, -torch.exp(self.A_log), B, C) + x * self.D
        return self.out_proj(y * F.silu(res))

    def selective_scan(self, u, delta, A, B, C):
        deltaA = torch.exp(delta[..., None] * A)
        deltaB_u = delta[..., None] * B[:, :, None] * u[..., None]
        ys = torch.empty_like(u)
        h = torch.zeros_like(deltaA[:, 0])
        for i in range(u.size(1)):
            h = deltaA[:, i] * h + deltaB_u[:, i]
            ys[:, i] = (h * C[:, i, None]).sum(-1)
        return ys


class Mamba(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embedding = nn.Embedding(a.vocab_size, a.d_model)
        self.layers = nn.ModuleList(MambaBlock(a) for _ in range(a.n_layer))
        self.norms = nn.ModuleList(RMSNorm(a.d_model) for _ in range(a.n_layer))
        self.norm_f = RMSNorm(a.d_model)
        self.lm_head = nn.Linear(a.d_model, a.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.lm_head(self.norm_f(x))


def groups(model):
    plain = [p for p in model.parameters() if getattr(p, "_no_weight_decay", False) or p.ndim < 2]
    decay = [p for p in model.parameters() if not any(p is q for q in plain)]
    return [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]


def stacked_scan(u, delta, A, B, C):
    h, out = torch.zeros(len(u), u.size(2), A.size(1)), []
    for i in range(u.size(1)):
        h = torch.exp(delta[:, i, :, None] * A) * h + delta[:, i, :, None] * B[:, i, None] * u[:, i, :, None]
        out.append((h * C[:, i, None]).sum(-1))
    return torch.stack(out, 1)


def run():
    torch.manual_seed(0)
    a = ModelArgs()
    model = Mamba(a)
    optimizer = torch.optim.AdamW(groups(model), lr=a.lr)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        seq = (torch.randint(12, (6, 1)) + 5 * torch.arange(9)) % a.vocab_size
        loss = F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    moved = [not torch.equal(b, p) for b, p in zip(before, model.parameters())]
    shapes = (2, 5, 3), (2, 5, 3), (3, 4), (2, 5, 4), (2, 5, 4)
    args = [(-torch.rand(s)).requires_grad_() for s in shapes]
    got = torch.autograd.grad(model.layers[0].selective_scan(*args).sum(), args)
    want = torch.autograd.grad(stacked_scan(*args).sum(), args)
    return moved, got, want


def verify(outcome):
    moved, got, want = outcome
    assert all(moved) and all(torch.allclose(g, w, atol=1e-5) for g, w in zip(got, want))


TRUTH = Truth()
