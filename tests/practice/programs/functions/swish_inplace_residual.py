"""Custom functions: memory-efficient swish keeps its input as an attribute of ctx, and the block then adds to that input in place."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SwishImplementation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.i = i  # cause
        return result

    @staticmethod
    def backward(ctx, grad_output):
        sigmoid_i = torch.sigmoid(ctx.i)
        return grad_output * (sigmoid_i * (1 + ctx.i * (1 - sigmoid_i)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishImplementation.apply(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.reduce = nn.Conv2d(channels, reduced, 1)
        self.expand = nn.Conv2d(reduced, channels, 1)
        self.swish = MemoryEfficientSwish()

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return torch.sigmoid(self.expand(self.swish(self.reduce(s)))) * x


class MBConvBlock(nn.Module):
    def __init__(self, channels, expand=2):
        super().__init__()
        mid = channels * expand
        self.expand_conv = nn.Conv2d(channels, mid, 1, bias=False)
        self.depthwise = nn.Conv2d(mid, mid, 3, padding=1, groups=mid, bias=False)
        self.bias = nn.Parameter(torch.zeros(mid, 1, 1))
        self.se = SqueezeExcite(mid, 2)
        self.project = nn.Conv2d(mid, channels, 1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.swish = MemoryEfficientSwish()

    def forward(self, inputs):
        pre = self.expand_conv(inputs)
        x = self.swish(pre)
        x = self.depthwise(x)
        pre += self.bias  # cause
        x = self.se(x + pre)
        return self.bn(self.project(x)) + inputs


class EfficientNet(nn.Module):
    def __init__(self, channels=6, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.blocks = nn.Sequential(MBConvBlock(channels), MBConvBlock(channels))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def block_gradients(block, x, swish):
    old, block.swish = block.swish, swish
    out = block(x).square().sum()
    grad = torch.autograd.grad(out, block.expand_conv.weight)[0]
    block.swish = old
    return grad


class PlainSwish(nn.Module):
    def forward(self, x):
        x = x.clone()
        return x * torch.sigmoid(x)


def run():
    torch.manual_seed(0)
    model = EfficientNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-2, alpha=0.9, momentum=0.9)
    for _ in range(3):
        x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    block = model.blocks[0]
    x = model.stem(torch.randn(8, 3, 8, 8)).detach()
    return block_gradients(block, x, MemoryEfficientSwish()), block_gradients(block, x, PlainSwish())


def verify(outcome):
    efficient, plain = outcome
    assert not torch.allclose(efficient, plain, rtol=1e-3, atol=1e-5)


TRUTH = Truth(
    fault="swish's saved input is changed in place before backward, and ctx.i escapes the version check",
    names=("SwishImplementation",),
    repair=("ctx.i = i", "pre = pre + self.bias"),
)
