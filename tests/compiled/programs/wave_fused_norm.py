"""Audio: a stack of gated blocks with a fused add-and-normalise kernel as a custom op, compiled as a whole."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the kernel adds into the residual, undeclared: what tanh saved of it for backward is overwritten",
    names=("add_rms_norm", "residual", "mutates_args", "tanh"),
    values=True,
    repair=("total = np.add(residual.detach().numpy(), x.detach().numpy())",),
)


@torch.library.custom_op("wave::add_rms_norm", mutates_args=())  # also
def add_rms_norm(x: Tensor, residual: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    total = np.add(residual.detach().numpy(), x.detach().numpy(), out=residual.detach().numpy())  # cause
    inverse = 1 / np.sqrt(np.square(total).mean(-1, keepdims=True) + 1e-6)
    return torch.from_numpy(total * inverse) * scale, torch.from_numpy(total.copy())


@add_rms_norm.register_fake
def _(x, residual, scale):
    return torch.empty_like(x), torch.empty_like(residual)


def keep(ctx, inputs, output):
    ctx.save_for_backward(output[1], inputs[2])


def backward(ctx, grad_normed, grad_total):
    total, scale = ctx.saved_tensors
    inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6)
    unit = total * inverse
    inner = grad_normed * scale
    grad = grad_total + inverse * (inner - unit * (inner * unit).mean(-1, keepdim=True))
    return grad, grad, (grad_normed * unit).flatten(0, -2).sum(0)


add_rms_norm.register_autograd(backward, setup_context=keep)


def plain(x, residual, scale):
    total = residual + x
    return F.rms_norm(total, total.shape[-1:], scale, 1e-6), total


class Stack(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem, self.gate, self.out = nn.Linear(4, width), nn.Linear(width, width), nn.Linear(width, 5)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, frames, norm=add_rms_norm):
        residual = torch.tanh(self.stem(frames))
        branch = torch.sigmoid(self.gate(residual)) * residual
        normed, total = norm(branch, residual, self.scale)
        return self.out(normed + total)


def setup():
    torch.manual_seed(0)


def run():
    model = Stack()
    compiled = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    gaps = []
    for _ in range(3):
        frames, labels = torch.randn(6, 10, 4), torch.randint(5, (60,))
        exact = torch.autograd.grad(F.cross_entropy(model(frames, plain).flatten(0, 1), labels), model.stem.weight)[0]
        optimizer.zero_grad()
        F.cross_entropy(compiled(frames).flatten(0, 1), labels).backward()
        gaps.append(((model.stem.weight.grad - exact).norm() / exact.norm()).item())  # symptom
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 1e-2
