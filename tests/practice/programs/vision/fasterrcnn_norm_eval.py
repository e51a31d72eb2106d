"""Detection: the backbone's norms are put into eval mode once, and model.train() undoes it."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Cfg:
    channels: int = 8
    num_classes: int = 3
    freeze_at: int = 1
    norm_eval: bool = True
    base_lr: float = 0.02
    max_iter: int = 3


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Backbone(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.stem = Stage(3, cfg.channels)
        self.res2 = Stage(cfg.channels, cfg.channels)
        self.res3 = Stage(cfg.channels, cfg.channels)
        self.freeze()

    def freeze(self):
        for stage in (self.stem, self.res2)[: self.cfg.freeze_at]:
            stage.requires_grad_(False)
        if self.cfg.norm_eval:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.requires_grad_(False)
                    m.eval()

    def forward(self, x):
        c2 = self.res2(self.stem(x))
        return {"res2": c2, "res3": self.res3(c2)}


class FPN(nn.Module):
    def __init__(self, backbone, cfg):
        super().__init__()
        self.bottom_up = backbone
        self.lateral = nn.ModuleDict({k: nn.Conv2d(cfg.channels, cfg.channels, 1) for k in ("res2", "res3")})
        self.output = nn.ModuleDict({k: nn.Conv2d(cfg.channels, cfg.channels, 3, padding=1) for k in ("res2", "res3")})

    def forward(self, x):
        feats = self.bottom_up(x)
        p3 = self.lateral["res3"](feats["res3"])
        p2 = self.lateral["res2"](feats["res2"]) + F.interpolate(p3, scale_factor=2)
        return [self.output["res2"](p2), self.output["res3"](p3)]


class DenseHead(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cls = nn.Conv2d(cfg.channels, cfg.num_classes, 3, padding=1)
        self.reg = nn.Conv2d(cfg.channels, 4, 3, padding=1)
        nn.init.constant_(self.cls.bias, -2.0)

    def forward(self, feats):
        cls = torch.cat([self.cls(f).flatten(2).transpose(1, 2) for f in feats], 1)
        reg = torch.cat([self.reg(f).flatten(2).transpose(1, 2) for f in feats], 1)
        return cls, reg

    def losses(self, cls, reg, labels, deltas):
        onehot = F.one_hot(labels.clamp(min=0), cls.size(-1)) * (labels >= 0)[..., None]
        p = torch.sigmoid(cls)
        ce = F.binary_cross_entropy_with_logits(cls, onehot.float(), reduction="none")
        focal = ce * (1 - (p * onehot + (1 - p) * (1 - onehot))) ** 2
        pos = labels >= 0
        n = pos.sum().clamp(min=1)
        return {"loss_cls": focal.sum() / n, "loss_box": F.smooth_l1_loss(reg[pos], deltas[pos], reduction="sum") / n}


class Detector(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fpn = FPN(Backbone(cfg), cfg)
        self.head = DenseHead(cfg)

    def forward(self, images, labels, deltas):
        return self.head.losses(*self.head(self.fpn(images)), labels, deltas)


class SimpleTrainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(params, cfg.base_lr, momentum=0.9)

    def train(self):
        self.model.train()  # cause
        for _ in range(self.cfg.max_iter):
            images = torch.rand(2, 3, 32, 32) * 255
            labels = torch.where(torch.rand(2, 80) < 0.1, torch.randint(0, 3, (2, 80)), -1)
            loss_dict = self.model(images / 128 - 1, labels, torch.randn(2, 80, 4))
            self.optimizer.zero_grad()
            sum(loss_dict.values()).backward()
            self.optimizer.step()


def run():
    torch.manual_seed(0)
    cfg = Cfg()
    model = Detector(cfg)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    before = [m.running_mean.clone() for m in norms]
    SimpleTrainer(cfg, model).train()
    return before, [m.running_mean.clone() for m in norms]


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="model.train() switches the frozen norms back to batch statistics; norm_eval has to be applied after it",
    names=("bn",),
    repair=("self.model.train()\nself.model.fpn.bottom_up.freeze()",),
)
