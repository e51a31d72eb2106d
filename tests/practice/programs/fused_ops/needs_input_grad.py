"""A fused linear + GELU: backward asks only whether the input needs a gradient, so the first layer's weights get none."""

import math

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from tests.practice.truth import Truth


def gelu_grad(x):
    cdf = 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
    return cdf + x * torch.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


class FusedLinearGELUFn(torch.autograd.Function):
    """Saves the pre-activation alone, not the activation."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        pre = torch.addmm(bias, x, weight.t())
        ctx.save_for_backward(x, weight, pre)
        return F.gelu(pre)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, weight, pre = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:  # cause
            return None, None, None
        grad_pre = grad_output * gelu_grad(pre)
        grad_x = grad_pre @ weight
        return grad_x, grad_pre.t() @ x, grad_pre.sum(0)


class FusedLinearGELU(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_normal_(self.weight)

    def forward(self, x):
        lead = x.shape[:-1]
        return FusedLinearGELUFn.apply(x.reshape(-1, x.size(-1)), self.weight, self.bias).view(*lead, -1)


class TabularNet(nn.Module):
    def __init__(self, n_features, hidden=16, n_out=1):
        super().__init__()
        self.fc1 = FusedLinearGELU(n_features, hidden)
        self.fc2 = FusedLinearGELU(hidden, hidden)
        self.out = nn.Linear(hidden, n_out)

    def forward(self, x):
        return self.out(self.fc2(self.fc1(x))).squeeze(-1)


def gradcheck():
    """The unit test of the kernel, which it passes."""
    args = [t.double().requires_grad_() for t in (torch.randn(3, 4), torch.randn(5, 4), torch.randn(5))]
    return torch.autograd.gradcheck(FusedLinearGELUFn.apply, args)


def run():
    assert gradcheck()
    torch.manual_seed(0)
    model = TabularNet(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(16, 6)
        y = x[:, 0] * x[:, 1] + 0.1 * torch.randn(16)
        loss = F.huber_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [n for n, p in model.named_parameters() if torch.equal(p, start[n])]


def verify(outcome):
    assert outcome == ["fc1.weight", "fc1.bias"], outcome


TRUTH = Truth(
    fault="backward returns nothing at all when the input needs no gradient: fc1 is never trained",
    names=("fc1", "needs_input_grad"),
    repair=("if not any(ctx.needs_input_grad):",),
)
