"""A home-made LARS: the momentum buffer starts as the gradient tensor itself, and the two stay one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LARS(torch.optim.Optimizer):
    """Layer-wise adaptive SGD with momentum."""

    def __init__(self, params, lr, momentum=0.9, trust=1e-1):
        super().__init__(params, dict(lr=lr, momentum=momentum, trust=trust))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                d_p = p.grad
                state = self.state[p]
                if "momentum_buffer" not in state:
                    buf = state["momentum_buffer"] = d_p  # cause
                else:
                    buf = state["momentum_buffer"]
                    buf.mul_(group["momentum"]).add_(d_p)
                scale = group["trust"] * p.norm() / buf.norm().clamp(min=1e-8) if p.ndim > 1 else 1.0
                p.add_(buf * scale, alpha=-group["lr"])


class SmallResNet(nn.Module):
    def __init__(self, ch=6, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        return self.fc(F.relu(h + self.conv2(h)).mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = SmallResNet()
    opt = LARS(model.parameters(), lr=0.1)
    for it in range(3):
        x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))
        opt.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        print(f"it {it} loss {loss.item():.4f} grad norm {norm.item():.3f}")
    return opt, model


def verify(out):
    opt, model = out
    assert all(opt.state[p]["momentum_buffer"] is p.grad for p in model.parameters())


TRUTH = Truth(
    fault="momentum and gradient are one tensor",
    names=("momentum_buffer",),
    repair=('buf = state["momentum_buffer"] = d_p.clone()',),
)
