"""EfficientNet block with a hand-made Swish: the input hangs on ctx and is changed in place afterwards."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SwishFunction(torch.autograd.Function):
    """Keeps only the input and recomputes the sigmoid in backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # cause
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_out):
        s = torch.sigmoid(ctx.x)
        return grad_out * (s * (1 + ctx.x * (1 - s)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=4):
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // reduction, 1)
        self.expand = nn.Conv2d(channels // reduction, channels, 1)

    def forward(self, x):
        w = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.expand(F.relu(self.reduce(w))))


class MBConv(nn.Module):
    def __init__(self, channels, act):
        super().__init__()
        self.expand = nn.Conv2d(channels, 2 * channels, 1)
        self.depthwise = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels)
        self.se = SqueezeExcite(2 * channels)
        self.project = nn.Conv2d(2 * channels, channels, 1)
        self.act = act

    def forward(self, x):
        h = self.expand(x)
        y = self.se(self.depthwise(self.act(h)))
        # the skip inside the block is damped, in place to save memory
        h *= 0.5  # also
        return x + self.project(y + h)


class Net(nn.Module):
    def __init__(self, act, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.blocks = nn.Sequential(MBConv(8, act), MBConv(8, act))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def stem_gradient(model, x, y):
    return torch.autograd.grad(F.cross_entropy(model(x), y), model.stem.weight)[0]


def run():
    torch.manual_seed(0)
    model = Net(MemoryEfficientSwish())
    plain = Net(lambda h: F.silu(h.clone()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(4, 3, 16, 16) * 3, torch.randint(0, 5, (4,))
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    plain.load_state_dict(model.state_dict())
    return model(x), plain(x), stem_gradient(model, x, y), stem_gradient(plain, x, y)


def verify(outcome):
    out, true_out, grad, true_grad = outcome
    assert torch.allclose(out, true_out, atol=1e-5)
    assert not torch.allclose(grad, true_grad, rtol=1e-2, atol=1e-5)


TRUTH = Truth(
    fault="an input kept as ctx.x is not guarded by the version counter: backward reads it after `h *= 0.5`",
    names=("SwishFunction", "ctx"),
    repair=("ctx.x = x.clone()",),
)
