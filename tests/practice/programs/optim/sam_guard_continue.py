"""Optimizers: SAM's new guard against bad batches leaves between the two steps, with the weights still perturbed."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    rho: float = 0.5
    adaptive: bool = False
    learning_rate: float = 0.05
    momentum: float = 0.9
    label_smoothing: float = 0.1
    max_loss: float = 5.0
    batches: int = 4


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (p.pow(2) if group["adaptive"] else 1.0) * p.grad * scale
                p.add_(e_w)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.restore()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def restore(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "old_p" in self.state[p]:
                    p.data = self.state[p]["old_p"]

    def _grad_norm(self):
        norms = [
            ((p.abs() if group["adaptive"] else 1.0) * p.grad).norm(p=2)
            for group in self.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        return torch.stack(norms).norm(p=2)


class WideResBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.shortcut = nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        h = F.leaky_relu(x, 0.1)
        return self.shortcut(h) + self.conv2(F.relu(self.conv1(h)))


class WideResNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv, self.block, self.linear = (
            nn.Conv2d(3, 4, 3, padding=1),
            WideResBlock(4, 8),
            nn.Linear(8, num_classes),
        )

    def forward(self, x):
        return self.linear(self.block(self.conv(x)).mean((2, 3)))


def smooth_crossentropy(pred, gold, smoothing):
    return F.cross_entropy(pred, gold, label_smoothing=smoothing)


def train(model, optimizer, batches, args):
    model.train()
    skipped, starts = [], []
    for step, (inputs, targets) in enumerate(batches):
        starts.append([p.detach().clone() for p in model.parameters()])
        loss = smooth_crossentropy(model(inputs), targets, args.label_smoothing)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        perturbed = smooth_crossentropy(model(inputs), targets, args.label_smoothing)
        if not torch.isfinite(perturbed) or perturbed > args.max_loss:
            skipped.append(step)
            continue  # cause
        perturbed.backward()
        optimizer.second_step(zero_grad=True)
    return skipped, starts


def run():
    torch.manual_seed(0)
    args = Args()
    model = WideResNet()
    optimizer = SAM(
        model.parameters(),
        torch.optim.SGD,
        rho=args.rho,
        adaptive=args.adaptive,
        lr=args.learning_rate,
        momentum=args.momentum,
    )
    batches = [(torch.randn(8, 3, 8, 8), torch.randint(4, (8,))) for _ in range(args.batches)]
    batches[1] = (batches[1][0] * 60, batches[1][1])  # a broken batch
    return train(model, optimizer, batches, args)


def verify(outcome):
    skipped, starts = outcome
    assert skipped == [1]
    assert all(not torch.equal(a, b) for a, b in zip(starts[1], starts[2]))


TRUTH = Truth(
    fault="a skipped batch leaves the weights at w + e(w): first_step perturbed them and nothing puts them back",
    names=("first_step",),
    repair=("optimizer.restore()\ncontinue",),
)
