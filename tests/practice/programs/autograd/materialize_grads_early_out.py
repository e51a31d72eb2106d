"""Custom Function with two outputs: set_materialize_grads(False) and an early return drop the gradient of the used one."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class SplitGate(Function):
    """value * sigmoid(gate), and the gate for a sparsity penalty, from one fused projection."""

    @staticmethod
    def forward(ctx, fused):
        value, gate = fused.chunk(2, dim=-1)
        s = gate.sigmoid()
        ctx.save_for_backward(value, s)
        ctx.set_materialize_grads(False)
        return value * s, s.clone()

    @staticmethod
    def backward(ctx, grad_out, grad_gate):
        value, s = ctx.saved_tensors
        if grad_out is None or grad_gate is None:  # cause
            return None
        grad_s = grad_out * value + grad_gate
        return torch.cat([grad_out * s, grad_s * s * (1 - s)], -1)


class GatedLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        return SplitGate.apply(self.proj(x))


class Model(nn.Module):
    def __init__(self, dim=8, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(GatedLayer(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        gates = []
        for layer in self.layers:
            x, gate = layer(x)
            gates.append(gate.mean())
        return self.head(x).squeeze(-1), torch.stack(gates).mean()


def train(model, optimizer, steps, sparsity):
    for _ in range(steps):
        x = torch.randn(16, 8)
        out, gate = model(x)
        loss = F.mse_loss(out, x[:, 0])
        if sparsity:
            loss = loss + sparsity * gate
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [p.detach().clone() for p in model.layers.parameters()]
    train(model, optimizer, 2, sparsity=0.0)  # warm up without the penalty
    still = [torch.equal(a, b) for a, b in zip(before, model.layers.parameters())]
    train(model, optimizer, 1, sparsity=1e-2)
    return still


def verify(outcome):
    assert all(outcome)


TRUTH = Truth(
    fault="backward returns None when only one of the two outputs has a gradient, the layers below do not learn",
    names=("SplitGate",),
    repair=(
        "grad_out = torch.zeros_like(s) if grad_out is None else grad_out\ngrad_gate = torch.zeros_like(s) if grad_gate is None else grad_gate\nif False:",
    ),
)
