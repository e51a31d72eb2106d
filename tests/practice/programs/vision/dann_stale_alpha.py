"""Domain adaptation: the reversal layer took its strength by value at construction, when it was zero, and the schedule never reaches it."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ReverseLayerF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class GradientReversal(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return ReverseLayerF.apply(x, self.alpha)


class WarmStart:
    """alpha goes from 0 to hi along the training (Ganin et al.)."""

    def __init__(self, max_iters, hi=1.0, gain=10.0):
        self.max_iters, self.hi, self.gain = max_iters, hi, gain
        self.iter_num = 0
        self.alpha = 0.0

    def step(self):
        p = self.iter_num / self.max_iters
        self.alpha = self.hi * (2.0 / (1.0 + math.exp(-self.gain * p)) - 1)
        self.iter_num += 1


class CNNModel(nn.Module):
    def __init__(self, schedule, classes=4):
        super().__init__()
        self.schedule = schedule
        self.feature = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(True), nn.Conv2d(8, 8, 3, 2, 1), nn.Flatten()
        )
        self.class_classifier = nn.Sequential(nn.Linear(32, 16), nn.ReLU(True), nn.Linear(16, classes))
        self.grl = GradientReversal(schedule.alpha)
        self.domain_classifier = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(True), nn.Linear(16, 2))

    def forward(self, x):
        feature = self.feature(x)
        self.schedule.step()  # cause
        return self.class_classifier(feature), self.domain_classifier(self.grl(feature))


def accuracy(model, x, y):
    model.eval()
    counter = model.schedule.iter_num
    with torch.no_grad():
        pred = model(x)[0].argmax(1)
    model.schedule.iter_num = counter
    model.train()
    return (pred == y).float().mean().item()


def run():
    torch.manual_seed(3)
    n_steps = 3
    model = CNNModel(WarmStart(max_iters=2 * n_steps))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, labels = torch.randn(24, 1, 8, 8), torch.randint(0, 4, (24,))
    target = torch.randn(24, 1, 8, 8) * 1.5 + 0.5
    reach, alphas = [], []
    for i in range(n_steps):
        s, y, t = source[i * 8 : (i + 1) * 8], labels[i * 8 : (i + 1) * 8], target[i * 8 : (i + 1) * 8]
        model.zero_grad()
        class_output, domain_output = model(s)
        err_s_label = F.cross_entropy(class_output, y)
        err_s_domain = F.cross_entropy(domain_output, torch.zeros(8, dtype=torch.long))
        _, domain_output = model(t)
        err_t_domain = F.cross_entropy(domain_output, torch.ones(8, dtype=torch.long))
        g = torch.autograd.grad(err_s_domain + err_t_domain, model.feature[0].weight, retain_graph=True)[0]
        reach.append(float(g.abs().max()))
        alphas.append(model.schedule.alpha)
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
    accuracy(model, source, labels)
    return reach, alphas


def verify(outcome):
    reach, alphas = outcome
    assert max(reach) == 0 and alphas[-1] > 0.5


TRUTH = Truth(
    fault="the reversal layer keeps alpha = 0: the domain loss sends zeros to the feature extractor",
    names=("ReverseLayerF", "alpha"),
    repair=("self.schedule.step()\nself.grl.alpha = self.schedule.alpha",),
)
