"""Segmentation: freeze_bn() comes before model.train(), which thaws the statistics again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def conv_bn(cin, cout, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(cout), nn.ReLU()
    )


class ASPP(nn.Module):
    def __init__(self, cin, cout, rates=(1, 2)):
        super().__init__()
        self.branches = nn.ModuleList(conv_bn(cin, cout, dilation=r) for r in rates)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, cout, 1), nn.ReLU())
        self.merge = nn.Sequential(
            nn.Conv2d(cout * (len(rates) + 1), cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()
        )

    def forward(self, x):
        outs = [b(x) for b in self.branches]
        outs.append(F.interpolate(self.pool(x), size=x.shape[-2:], mode="bilinear", align_corners=True))
        return self.merge(torch.cat(outs, 1))


class DeepLab(nn.Module):
    def __init__(self, num_classes=4, freeze_bn=False):
        super().__init__()
        self.backbone = nn.Sequential(conv_bn(3, 8, 2), conv_bn(8, 12, 2))
        self.aspp = ASPP(12, 8)
        self.last_conv = nn.Conv2d(8, num_classes, 1)
        self.should_freeze = freeze_bn

    def forward(self, input):
        x = self.last_conv(self.aspp(self.backbone(input)))
        return F.interpolate(x, size=input.shape[-2:], mode="bilinear", align_corners=True)

    def freeze_bn(self):
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()

    def get_1x_lr_params(self):
        return [
            p
            for m in self.backbone.modules()
            if isinstance(m, (nn.Conv2d, nn.BatchNorm2d))
            for p in m.parameters(recurse=False)
        ]

    def get_10x_lr_params(self):
        return [*self.aspp.parameters(), *self.last_conv.parameters()]


class Trainer:
    def __init__(self, lr=0.007, epochs=2, freeze_bn=True):
        self.model = DeepLab(freeze_bn=freeze_bn)
        train_params = [
            {"params": self.model.get_1x_lr_params(), "lr": lr},
            {"params": self.model.get_10x_lr_params(), "lr": lr * 10},
        ]
        self.optimizer = torch.optim.SGD(train_params, momentum=0.9, weight_decay=5e-4)
        self.criterion = nn.CrossEntropyLoss(ignore_index=255)
        self.loader = [(torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4, 16, 16))) for _ in range(2)]
        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(
            self.optimizer, total_iters=epochs * len(self.loader), power=0.9
        )
        self.best_pred = 0.0

    def training(self, epoch):
        if self.model.should_freeze:
            self.model.freeze_bn()
        self.model.train()  # cause
        for image, target in self.loader:
            target[:, :2] = 255
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(image), target)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
        return loss.item()

    @torch.no_grad()
    def validation(self, epoch):
        self.model.eval()
        hits = [(self.model(x).argmax(1) == y).float().mean().item() for x, y in self.loader]
        self.best_pred = max(self.best_pred, sum(hits) / len(hits))


def run():
    torch.manual_seed(1)
    trainer = Trainer()
    start = {n: b.clone() for n, b in trainer.model.named_buffers()}
    for epoch in range(2):
        trainer.training(epoch)
        trainer.validation(epoch)
    return start, dict(trainer.model.named_buffers())


def verify(outcome):
    start, end = outcome
    assert all(not torch.equal(start[n], end[n]) for n in start if "running" in n)


TRUTH = Truth(
    fault="model.train() undoes freeze_bn(), the running statistics move on",
    names=("running_mean",),
    repair=("self.model.train()\nif self.model.should_freeze:\n    self.model.freeze_bn()",),
)
