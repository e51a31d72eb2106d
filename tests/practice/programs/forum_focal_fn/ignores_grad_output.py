"""A hand-written loss Function whose backward ignores grad_output, so the weight of the loss has no effect."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class TverskyFunction(torch.autograd.Function):
    """1 - Tversky index, with its analytic gradient."""

    @staticmethod
    def forward(ctx, prob, target, alpha, beta):
        tp = (prob * target).sum()
        fp = (prob * (1 - target)).sum()
        fn = ((1 - prob) * target).sum()
        den = tp + alpha * fp + beta * fn + 1e-6
        ctx.save_for_backward(target, tp, den)
        ctx.alpha, ctx.beta = alpha, beta
        return 1 - tp / den

    @staticmethod
    def backward(ctx, grad_output):
        target, tp, den = ctx.saved_tensors
        d_den = target + ctx.alpha * (1 - target) - ctx.beta * target
        grad = -(target * den - tp * d_den) / den**2
        return grad, None, None, None  # cause


class SegNet(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


def make_batch(n):
    mask = torch.zeros(n, 1, 6, 6)
    mask[:, :, 1:4, 2:5] = 1
    return mask + 0.5 * torch.randn_like(mask), mask


def run():
    torch.manual_seed(0)
    model = SegNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    grads = {}
    for weight in (1.0, 0.01, 0.0):
        torch.manual_seed(1)
        img, mask = make_batch(3)
        opt.zero_grad()
        loss = weight * TverskyFunction.apply(model(img), mask, 0.3, 0.7)
        loss.backward()
        grads[weight] = model.net[0].weight.grad.norm().item()
        if weight == 0.0:
            opt.step()
    return grads


def verify(grads):
    assert abs(grads[0.01] - grads[1.0]) < 1e-6
    assert grads[0.0] > 0


TRUTH = Truth(
    fault="backward does not multiply by grad_output, so every scaling of the loss (weights, accumulation, AMP) is lost",
    names=("TverskyFunction",),
    repair=("return grad * grad_output, None, None, None",),
)
