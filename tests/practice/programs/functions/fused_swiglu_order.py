"""Custom functions: the fused SwiGLU returns the gradients of gate and up in each other's place."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FusedSwiGLU(torch.autograd.Function):
    """silu(gate) * up, that keeps its two inputs and nothing else."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad_output):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        silu = gate * sig
        d_up = grad_output * silu
        d_gate = grad_output * up * (sig + silu * (1 - sig))
        return d_up, d_gate  # cause


class FusedRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, rstd = ctx.saved_tensors
        x_hat = x * rstd
        d_weight = (grad * x_hat).flatten(0, -2).sum(0)
        g = grad * weight
        return rstd * (g - x_hat * (g * x_hat).mean(-1, keepdim=True)), d_weight, None


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return FusedRMSNorm.apply(x, self.weight, 1e-6)


class MLP(nn.Module):
    def __init__(self, dim, hidden, fused=True):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)
        self.fused = fused

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(FusedSwiGLU.apply(gate, up) if self.fused else F.silu(gate) * up)


class TokenMixer(nn.Module):
    def __init__(self, dim, kernel=3):
        super().__init__()
        self.kernel = kernel
        self.conv = nn.Conv1d(dim, dim, kernel, groups=dim)

    def forward(self, x):
        return self.conv(F.pad(x.transpose(1, 2), (self.kernel - 1, 0))).transpose(1, 2)


class LM(nn.Module):
    def __init__(self, vocab=24, dim=12, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(
            nn.ModuleList([RMSNorm(dim), TokenMixer(dim), RMSNorm(dim), MLP(dim, 20)]) for _ in range(layers)
        )
        self.norm, self.head = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for n1, mix, n2, mlp in self.blocks:
            x = x + mix(n1(x))
            x = x + mlp(n2(x))
        return self.head(self.norm(x))


def grads(model, ids, fused):
    for block in model.blocks:
        block[3].fused = fused
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    return torch.autograd.grad(loss, [model.blocks[1][3].gate_proj.weight, model.blocks[1][3].up_proj.weight])


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(3):
        ids = torch.randint(0, 24, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return grads(model, ids, True), grads(model, ids, False)


def verify(outcome):
    fused, plain = outcome
    assert not torch.allclose(fused[0], plain[0], atol=1e-6)


TRUTH = Truth(
    fault="FusedSwiGLU.backward returns (d_up, d_gate) for (gate, up)",
    names=("FusedSwiGLU",),
    repair=("return d_gate, d_up",),
)
