"""timm-like Mixup, and right: fresh batches are mixed in place, soft targets, stochastic depth, EMA-less plain loop with a head reset."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Mixup:
    def __init__(self, alpha=0.8, smoothing=0.1, classes=4):
        self.dist, self.smoothing, self.classes = torch.distributions.Beta(alpha, alpha), smoothing, classes

    def one_hot(self, y):
        off = self.smoothing / self.classes
        return torch.full((len(y), self.classes), off).scatter_(1, y.view(-1, 1), 1.0 - self.smoothing + off)

    def __call__(self, x, y):
        lam = self.dist.sample().item()
        x_flipped = x.flip(0).mul_(1.0 - lam)
        x.mul_(lam).add_(x_flipped)
        return x, self.one_hot(y) * lam + self.one_hot(y.flip(0)) * (1.0 - lam)


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        keep = 1 - self.p
        mask = x.new_empty((len(x),) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x * mask.div_(keep)


class ConvNeXt(nn.Module):
    def __init__(self, dim=8, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 2, 2)
        self.dwconv = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm = nn.GroupNorm(1, dim)
        self.pw = nn.Conv2d(dim, dim, 1)
        self.gamma = nn.Parameter(torch.full((dim, 1, 1), 1e-2))
        self.drop_path = DropPath(0.2)
        self.head = nn.Linear(dim, classes)

    def reset_classifier(self, classes):
        self.head = nn.Linear(self.head.in_features, classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.drop_path(self.gamma * F.gelu(self.pw(self.norm(self.dwconv(x)))))
        return self.head(x.mean((2, 3)))


def soft_target_cross_entropy(logits, target):
    return torch.sum(-target * F.log_softmax(logits, dim=-1), dim=-1).mean()


def run():
    torch.manual_seed(0)
    model = ConvNeXt()
    model.reset_classifier(4)  # before the optimizer is made
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=5)
    mixup = Mixup()
    images, labels = torch.randn(24, 3, 8, 8), torch.randint(0, 4, (24,))
    untouched = images.clone()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    model.train()
    for idx in torch.randperm(24).split(8):
        x, target = mixup(images[idx], labels[idx])  # indexing copies: the data set is not changed
        optimizer.zero_grad()
        soft_target_cross_entropy(model(x), target).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return torch.equal(images, untouched), {
        n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()
    }


def verify(outcome):
    same, moved = outcome
    assert same
    assert all(v > 0 for v in moved.values())


TRUTH = Truth()
