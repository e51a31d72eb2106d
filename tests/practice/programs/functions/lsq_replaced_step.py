"""Quantisation: LSQ's step size is replaced by a new parameter at the first batch, while the optimizer keeps the old one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


def round_pass(x):
    return (x.round() - x).detach() + x


class LsqQuan(nn.Module):
    def __init__(self, bit, all_positive=False, per_channel=False):
        super().__init__()
        self.thd_neg = 0 if all_positive else -(2 ** (bit - 1))
        self.thd_pos = 2**bit - 1 if all_positive else 2 ** (bit - 1) - 1
        self.per_channel = per_channel
        self.s = nn.Parameter(torch.ones(1))
        self.register_buffer("ready", torch.zeros((), dtype=torch.bool))

    def init_from(self, x):
        if self.per_channel:
            step = x.detach().abs().mean(dim=list(range(1, x.dim())), keepdim=True) * 2 / (self.thd_pos**0.5)
        else:
            step = x.detach().abs().mean() * 2 / (self.thd_pos**0.5)
        self.s = nn.Parameter(step.reshape(1))  # cause
        self.ready.fill_(True)

    def forward(self, x):
        if not self.ready:
            self.init_from(x)
        s_grad_scale = 1.0 / ((self.thd_pos * x.numel()) ** 0.5)
        s_scale = grad_scale(self.s, s_grad_scale)
        x = torch.clamp(x / s_scale, self.thd_neg, self.thd_pos)
        return round_pass(x) * s_scale


class QuanConv2d(nn.Conv2d):
    def __init__(self, *args, w_bit=4, a_bit=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.quan_w_fn, self.quan_a_fn = LsqQuan(w_bit), LsqQuan(a_bit, all_positive=True)

    def forward(self, x):
        weight, act = self.quan_w_fn(self.weight), self.quan_a_fn(x)
        return F.conv2d(act, weight, self.bias, self.stride, self.padding)


class QuanLinear(nn.Linear):
    def __init__(self, *args, w_bit=8, **kwargs):
        super().__init__(*args, **kwargs)
        self.quan_w_fn = LsqQuan(w_bit)

    def forward(self, x):
        return F.linear(x, self.quan_w_fn(self.weight), self.bias)


class QuantNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = QuanConv2d(1, 6, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = QuanConv2d(6, 8, 3, padding=1, stride=2)
        self.bn2 = nn.BatchNorm2d(8)
        self.fc = QuanLinear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def param_groups(model, lr, wd):
    steps = [p for n, p in model.named_parameters() if n.endswith(".s")]
    rest = [p for n, p in model.named_parameters() if not n.endswith(".s")]
    return [{"params": rest, "lr": lr, "weight_decay": wd}, {"params": steps, "lr": lr, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = QuantNet()
    optimizer = torch.optim.SGD(param_groups(model, 0.05, 1e-4), momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    steps = []
    for _ in range(3):
        x, y = torch.rand(8, 1, 8, 8), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        steps.append({n: p.detach().clone() for n, p in model.named_parameters() if n.endswith(".s")})
    return steps


def verify(steps):
    assert all(torch.equal(steps[0][n], steps[-1][n]) for n in steps[0])


TRUTH = Truth(
    fault="the step sizes were replaced after the optimizer was built, the new ones are never stepped",
    names=("quan_w_fn.s",),
    repair=("self.s.data.copy_(step.reshape(1))",),
)
