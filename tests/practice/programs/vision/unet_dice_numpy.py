"""Segmentation: the new Dice metric thresholds a NumPy view, and thereby the very output whose loss is still to be differentiated."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class Config:
    base: int = 4
    lr: float = 1e-2
    momentum: float = 0.9
    epochs: int = 1
    batches: int = 3
    size: int = 16


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.up, self.conv = nn.ConvTranspose2d(cin, cin // 2, 2, 2), DoubleConv(cin, cout)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class UNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        b = cfg.base
        self.inc, self.down = DoubleConv(1, b), DoubleConv(b, 2 * b)
        self.pool, self.up = nn.MaxPool2d(2), Up(2 * b, b)
        self.outc = nn.Conv2d(b, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        return self.outc(self.up(self.down(self.pool(x1)), x1))


class BCELogitsFn(torch.autograd.Function):
    """Numerically safe BCE on logits with one saved tensor."""

    @staticmethod
    def forward(ctx, logits, masks):
        ctx.save_for_backward(logits, masks)
        return (logits.clamp(min=0) - logits * masks + torch.log1p(torch.exp(-logits.abs()))).mean()

    @staticmethod
    def backward(ctx, grad):
        logits, masks = ctx.saved_tensors
        return grad * (torch.sigmoid(logits) - masks) / logits.numel(), None


def dice_score(logits, masks):
    pred, true = logits.detach().numpy(), masks.numpy()
    pred[pred > 0] = 1.0  # cause
    pred[pred <= 0] = 0.0  # also
    inter = (pred * true).sum()
    return float(2 * inter / (pred.sum() + true.sum() + 1e-6))


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
        self.dice, self.wrong = [], []

    def train_step(self, images, masks):
        logits = self.model(images)
        logits.retain_grad()
        ideal = (torch.sigmoid(logits.detach().clone()) - masks) / masks.numel()
        loss = BCELogitsFn.apply(logits, masks)
        self.dice.append(dice_score(logits, masks))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.wrong.append(((logits.grad - ideal).norm() / ideal.norm()).item())
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def fit(self, loader):
        self.model.train()
        for _ in range(self.cfg.epochs):
            for images, masks in loader:
                self.train_step(images, masks)
        return self.wrong


def make_loader(cfg):
    grid = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, cfg.size)] * 2, indexing="ij"))
    for _ in range(cfg.batches):
        centre = torch.rand(4, 2, 1, 1) - 0.5
        masks = ((grid[None] - centre).norm(dim=1, keepdim=True) < 0.5).float()
        yield masks * 2 + torch.randn_like(masks), masks


def run():
    torch.manual_seed(0)
    cfg = Config()
    return Trainer(cfg, UNet(cfg)).fit(make_loader(cfg))


def verify(wrong):
    assert min(wrong) > 0.05


TRUTH = Truth(
    fault="numpy() shares memory: the threshold overwrites the logits between loss and backward(), unseen by autograd",
    names=("numpy",),
    repair=("pred = (pred > 0).astype(true.dtype)",),
)
