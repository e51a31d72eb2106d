"""mmdet-like: the parser sums what is called '..loss..'; the centerness head returns its loss under another key."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FCOSHead(nn.Module):
    def __init__(self, channels=8, classes=3):
        super().__init__()
        self.tower = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv_cls = nn.Conv2d(channels, classes, 1)
        self.conv_reg = nn.Conv2d(channels, 4, 1)
        self.conv_centerness = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        x = self.tower(x).relu()
        return self.conv_cls(x), self.conv_reg(x).exp(), self.conv_centerness(x)

    def loss(self, outs, targets):
        cls, reg, ctr = outs
        losses = {
            "loss_cls": F.cross_entropy(cls, targets["labels"]),
            "loss_bbox": F.l1_loss(reg, targets["ltrb"]),
            "centerness": F.binary_cross_entropy_with_logits(ctr, targets["centerness"]),  # cause
        }
        with torch.no_grad():
            losses["acc"] = (cls.argmax(1) == targets["labels"]).float().mean()
        return losses


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.bbox_head = FCOSHead()

    def _parse_losses(self, losses):
        log_vars = OrderedDict((name, value.mean()) for name, value in losses.items())
        loss = sum(value for name, value in log_vars.items() if "loss" in name)
        log_vars["loss"] = loss
        return loss, {name: value.item() for name, value in log_vars.items()}

    def train_step(self, data, optimizer):
        feats = self.backbone(data["img"]).relu()
        losses = self.bbox_head.loss(self.bbox_head(feats), data["targets"])
        loss, log_vars = self._parse_losses(losses)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters(), 35.0)
        optimizer.step()
        return log_vars


def batch():
    return {
        "img": torch.randn(2, 3, 16, 16),
        "targets": {
            "labels": torch.randint(0, 3, (2, 8, 8)),
            "ltrb": torch.rand(2, 4, 8, 8),
            "centerness": torch.rand(2, 1, 8, 8),
        },
    }


def run():
    torch.manual_seed(0)
    model = Detector().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    logs = [model.train_step(batch(), optimizer) for _ in range(3)]
    return logs, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    _, moved = outcome
    assert moved["bbox_head.conv_centerness.weight"] == 0.0
    assert moved["bbox_head.conv_reg.weight"] > 0.0


TRUTH = Truth(
    fault="the centerness loss is logged but never summed, as its key lacks 'loss': conv_centerness gets no gradient",
    names=("conv_centerness",),
    repair=('"loss_centerness": F.binary_cross_entropy_with_logits(ctr, targets["centerness"]),',),
)
