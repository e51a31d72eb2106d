"""Vision: timm's in-place mixup works on a slice of the training set kept in memory, and mixes the data set itself away."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def one_hot(x, num_classes, on_value=1.0, off_value=0.0):
    x = x.long().view(-1, 1)
    return torch.full((x.size()[0], num_classes), off_value).scatter_(1, x, on_value)


def mixup_target(target, num_classes, lam=1.0, smoothing=0.0):
    off_value = smoothing / num_classes
    on_value = 1.0 - smoothing + off_value
    y1 = one_hot(target, num_classes, on_value, off_value)
    y2 = one_hot(target.flip(0), num_classes, on_value, off_value)
    return y1 * lam + y2 * (1.0 - lam)


class Mixup:
    def __init__(self, mixup_alpha=0.8, prob=1.0, label_smoothing=0.1, num_classes=5, seed=0):
        self.rng = np.random.RandomState(seed)
        self.mixup_alpha, self.mix_prob = mixup_alpha, prob
        self.label_smoothing, self.num_classes = label_smoothing, num_classes
        self.mixup_enabled = True

    def _params_per_batch(self):
        if self.mixup_enabled and self.rng.rand() < self.mix_prob:
            return float(self.rng.beta(self.mixup_alpha, self.mixup_alpha))
        return 1.0

    def _mix_batch(self, x):
        lam = self._params_per_batch()
        if lam == 1.0:
            return 1.0
        x_flipped = x.flip(0).mul_(1.0 - lam)
        x.mul_(lam).add_(x_flipped)  # cause
        return lam

    def __call__(self, x, target):
        assert len(x) % 2 == 0, "Batch size should be even when using this"
        lam = self._mix_batch(x)
        return x, mixup_target(target, self.num_classes, lam, self.label_smoothing)


class TensorLoader:
    """Batches of a data set that fits into memory; augmentation happens on the device."""

    def __init__(self, images, labels, batch_size):
        self.images, self.labels, self.batch_size = images, labels, batch_size

    def __len__(self):
        return len(self.images) // self.batch_size

    def __iter__(self):
        for i in range(len(self)):
            part = slice(i * self.batch_size, (i + 1) * self.batch_size)
            yield self.images[part], self.labels[part]  # also


class SoftTargetCrossEntropy(nn.Module):
    def forward(self, x, target):
        return torch.sum(-target * F.log_softmax(x, dim=-1), dim=-1).mean()


class PatchNet(nn.Module):
    def __init__(self, dim=16, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, 4)
        self.mix = nn.Sequential(
            nn.GELU(),
            nn.BatchNorm2d(dim),
            nn.Conv2d(dim, dim, 3, padding=1, groups=dim),
            nn.GELU(),
            nn.BatchNorm2d(dim),
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        return self.head((x + self.mix(x)).mean((2, 3)))


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, mixup_fn, mixup_off_epoch=2):
    if mixup_off_epoch and epoch >= mixup_off_epoch:
        mixup_fn.mixup_enabled = False
    model.train()
    for input, target in loader:
        input, target = mixup_fn(input, target)
        output = model(input)
        loss = loss_fn(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(42)
    images, labels = torch.randn(16, 3, 16, 16), torch.randint(0, 5, (16,))
    original = images.clone()
    loader = TensorLoader(images, labels, 8)
    model = PatchNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    mixup_fn = Mixup()
    for epoch in range(3):
        train_one_epoch(epoch, model, loader, optimizer, SoftTargetCrossEntropy(), mixup_fn)
    return original, loader.images


def verify(outcome):
    original, images = outcome
    assert not torch.equal(original, images)


TRUTH = Truth(
    fault="mixup changes its batch in place, and the batch is a view of the data set",
    names=("images", "mul_"),
    repair=("x.set_((x * lam).add_(x_flipped))",),
)
