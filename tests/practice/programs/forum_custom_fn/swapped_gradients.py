"""Bilinear gating with a hand-written Function: backward returns the gradients of its two inputs in the wrong order."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class GatedProduct(torch.autograd.Function):
    """a * sigmoid(b), saves memory as the sigmoid is recomputed."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * torch.sigmoid(b)

    @staticmethod
    def backward(ctx, grad_out):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(b)
        grad_b = grad_out * a * s * (1 - s)
        grad_a = grad_out * s
        return grad_b, grad_a  # cause


class GLUBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.value = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.norm(x)
        return x + GatedProduct.apply(self.value(h), self.gate(h))


def reference(block, x):
    h = block.norm(x)
    return x + block.value(h) * torch.sigmoid(block.gate(h))


def grads(loss, module):
    return {n: g for (n, _), g in zip(module.named_parameters(), torch.autograd.grad(loss, list(module.parameters())))}


def run():
    torch.manual_seed(11)
    block, head = GLUBlock(8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*block.parameters(), *head.parameters()], lr=1e-2)
    wrong = []
    for _ in range(3):
        x = torch.randn(16, 8)
        y = x[:, :1] * x[:, 1:2].sigmoid()
        loss = (head(block(x)) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        ref = grads((head(reference(block, x)) - y).pow(2).mean(), block)
        wrong.append(not torch.allclose(block.value.weight.grad, ref["value.weight"], rtol=1e-3, atol=1e-6))
        optimizer.step()
    return wrong


def verify(wrong):
    assert all(wrong)


TRUTH = Truth(
    fault="GatedProduct.backward returns the gradient of b for a and that of a for b",
    names=("GatedProduct",),
    repair=("return grad_a, grad_b",),
)
