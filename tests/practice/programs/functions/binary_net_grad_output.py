"""Custom functions: the straight-through sign zeroes its incoming gradient in place, and with it the gradient of the skip connection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class BinaryActivation(torch.autograd.Function):
    """sign() forward, clipped identity backward (hard tanh)."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return torch.where(input >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output  # cause
        grad_input[input.abs() > 1] = 0  # also
        return grad_input


class BinaryWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight):
        scale = weight.abs().mean(dim=tuple(range(1, weight.dim())), keepdim=True)
        return weight.sign() * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


class BinaryConv2d(nn.Conv2d):
    def forward(self, x):
        return F.conv2d(x, BinaryWeight.apply(self.weight), self.bias, self.stride, self.padding)


class BinaryBlock(nn.Module):
    """Bi-Real style: the real-valued shortcut goes around the sign."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = BinaryConv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x):
        binary = BinaryActivation.apply(x)
        mixed = x + binary
        return self.norm(self.conv(mixed)) + x


class BinaryResNet(nn.Module):
    def __init__(self, channels=8, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.blocks = nn.ModuleList(BinaryBlock(channels) for _ in range(2))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = 3 * self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


def train_one_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for m in model.modules():
                if isinstance(m, BinaryConv2d):
                    m.weight.clamp_(-1, 1)
    return loss.item()


def shortcut_gradient():
    """What the sum x + sign(x) sends back to x, of which 1 must come through the shortcut everywhere."""
    x = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
    y = x * 1
    (y + BinaryActivation.apply(y)).mul(1.0).sum().backward()
    return x.grad


def run():
    torch.manual_seed(0)
    loader = [(torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))) for _ in range(3)]
    model = BinaryResNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_one_epoch(model, loader, optimizer)
    return shortcut_gradient()


def verify(grad):
    assert torch.equal(grad, torch.tensor([0.0, 2.0, 2.0, 0.0]))


TRUTH = Truth(
    fault="BinaryActivation.backward changes grad_output in place, which the shortcut shares",
    names=("BinaryActivation",),
    repair=("grad_input = grad_output.clone()",),
)
