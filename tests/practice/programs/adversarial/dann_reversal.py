"""DANN: the backward of the gradient reversal layer returns one gradient, while its forward took two inputs."""

import math

import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional as F

from tests.practice.truth import Truth


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha  # cause


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.label_classifier = nn.Linear(16, 3)
        self.domain_classifier = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x, alpha):
        h = self.feature(x)
        return self.label_classifier(h), self.domain_classifier(GradReverse.apply(h, alpha))


def run():
    torch.manual_seed(0)
    model = DANN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    n_batches, n_epoch = 2, 2
    for epoch in range(n_epoch):
        for i in range(n_batches):
            p = (i + epoch * n_batches) / (n_epoch * n_batches)
            alpha = 2.0 / (1.0 + math.exp(-10 * p)) - 1
            xs, ys, xt = torch.randn(6, 8), torch.randint(0, 3, (6,)), torch.randn(6, 8) + 1
            class_out, dom_s = model(xs, alpha)
            _, dom_t = model(xt, alpha)
            err_label = F.cross_entropy(class_out, ys)
            err_s = F.cross_entropy(dom_s, torch.zeros(6, dtype=torch.long))
            err_t = F.cross_entropy(dom_t, torch.ones(6, dtype=torch.long))
            opt.zero_grad()
            (err_label + err_s + err_t).backward()  # symptom
            opt.step()


TRUTH = Truth(
    fault="backward() of the custom Function has to return a None for alpha",
    raises="function GradReverseBackward returned an incorrect number of gradients",
    names=("GradReverse",),
    repair=("return grad_output.neg() * ctx.alpha, None",),
)
