"""Vision: a custom backward scales the gradient it is given in place, and the skip connection gets the scaled one too."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ScaleGrad(torch.autograd.Function):
    """Identity; the gradient of the residual branch is turned down."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        grad_output *= ctx.scale  # cause
        return grad_output, None


class ResidualBlock(nn.Module):
    def __init__(self, channels, branch_scale):
        super().__init__()
        self.branch_scale = branch_scale
        self.conv = nn.Conv1d(channels, channels, 3, padding=1)
        self.norm = nn.GroupNorm(2, channels)

    def forward(self, x):
        branch = ScaleGrad.apply(F.relu(self.norm(self.conv(x))), self.branch_scale)
        return branch + x


class Net(nn.Module):
    def __init__(self, channels=6, depth=3, classes=3, branch_scale=0.1):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 5, padding=2)
        self.blocks = nn.Sequential(*[ResidualBlock(channels, branch_scale) for _ in range(depth)])
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(-1))


def expected_stem_gradient(model, x, y):
    """The same chain rule with hooks instead of the Function: only the branch is scaled."""
    h = model.stem(x)
    for block in model.blocks:
        b = F.relu(block.norm(block.conv(h)))
        b.register_hook(lambda g, s=block.branch_scale: g * s)
        h = h + b
    loss = F.cross_entropy(model.head(h.mean(-1)), y)
    return torch.autograd.grad(loss, model.stem.weight)[0]


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ratios = []
    for _ in range(3):
        x, y = torch.randn(8, 1, 20), torch.randint(0, 3, (8,))
        wanted = expected_stem_gradient(model, x, y)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        ratios.append((model.stem.weight.grad.norm() / wanted.norm()).item())
        optimizer.step()
    return ratios


def verify(outcome):
    assert all(r < 0.05 for r in outcome)


TRUTH = Truth(
    fault="the in-place *= in backward changes the tensor that the addition also hands to the skip connection",
    names=("ScaleGrad",),
    repair=("grad_output = grad_output * ctx.scale",),
)
