"""Vision: the saliency maps for the logger are made with backward(), between the loss's backward() and the step."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    classes: int = 4
    width: int = 8
    lr: float = 0.05
    weight_decay: float = 1e-4
    iters: int = 4
    log_every: int = 2


class SqueezeExcite(nn.Module):
    def __init__(self, c, r=4):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(c, c // r, 1), nn.Conv2d(c // r, c, 1)

    def forward(self, x):
        s = F.relu(self.reduce(x.mean((2, 3), keepdim=True)))
        return x * torch.sigmoid(self.expand(s))


class MBConv(nn.Module):
    def __init__(self, cin, cout, expand=2):
        super().__init__()
        mid = cin * expand
        self.expand = nn.Conv2d(cin, mid, 1, bias=False)
        self.depthwise = nn.Conv2d(mid, mid, 3, padding=1, groups=mid, bias=False)
        self.se, self.project = SqueezeExcite(mid), nn.Conv2d(mid, cout, 1, bias=False)
        self.norm1, self.norm2 = nn.GroupNorm(2, mid), nn.GroupNorm(2, cout)

    def forward(self, x):
        h = F.silu(self.norm1(self.expand(x)))
        h = self.se(F.silu(self.depthwise(h)))
        h = self.norm2(self.project(h))
        return x + h if x.shape == h.shape else h


class EfficientNetish(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        w = cfg.width
        self.stem = nn.Conv2d(3, w, 3, 2, 1)
        self.blocks = nn.Sequential(MBConv(w, w), MBConv(w, 2 * w))
        self.classifier = nn.Linear(2 * w, cfg.classes)

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))


class SaliencyLogger:
    def __init__(self, every):
        self.every, self.maps = every, []

    def saliency(self, model, images, labels):
        images = images.detach().clone().requires_grad_(True)
        score = model(images).gather(1, labels[:, None]).sum()
        score.backward()  # cause
        return images.grad.abs().amax(dim=1)

    def __call__(self, step, model, images, labels):
        if step % self.every == 0:
            self.maps.append(self.saliency(model, images[:4], labels[:4]))


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model, self.logger = cfg, model, SaliencyLogger(cfg.log_every)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9, weight_decay=cfg.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, cfg.lr, total_steps=10)
        self.changed = []

    def train(self, images, labels):
        self.model.train()
        for step in range(self.cfg.iters):
            idx = torch.randint(len(images), (12,))
            x, y = images[idx], labels[idx]
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            mine = self.model.classifier.weight.grad.clone()
            self.logger(step, self.model, x, y)
            self.changed.append(not torch.equal(mine, self.model.classifier.weight.grad))
            self.optimizer.step()
            self.scheduler.step()
        return self.changed


def run():
    torch.manual_seed(0)
    cfg = Config()
    return Trainer(cfg, EfficientNetish(cfg)).train(torch.randn(32, 3, 12, 12), torch.randint(cfg.classes, (32,)))


def verify(changed):
    assert changed == [True, False, True, False]


TRUTH = Truth(
    fault="score.backward() of the saliency map adds its gradients to the parameters' before optimizer.step()",
    names=("saliency",),
    repair=("images.grad = torch.autograd.grad(score, images)[0]",),
)
