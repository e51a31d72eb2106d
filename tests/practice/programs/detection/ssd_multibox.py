"""SSD-style box loss: for the ranking of negatives the positives' losses are zeroed, in the tensor that is summed later."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MiniSSD(nn.Module):
    def __init__(self, classes=4, anchors=3):
        super().__init__()
        self.classes = classes
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.loc = nn.Conv2d(16, anchors * 4, 3, padding=1)
        self.conf = nn.Conv2d(16, anchors * classes, 3, padding=1)

    def forward(self, x):
        f = self.backbone(x)
        loc = self.loc(f).permute(0, 2, 3, 1).reshape(len(x), -1, 4)
        conf = self.conf(f).permute(0, 2, 3, 1).reshape(len(x), -1, self.classes)
        return loc, conf


class MultiBoxLoss(nn.Module):
    def __init__(self, neg_pos_ratio=3):
        super().__init__()
        self.ratio = neg_pos_ratio

    def forward(self, loc, conf, loc_t, labels):
        b = loc.size(0)
        pos = labels > 0
        num_pos = pos.sum(1, keepdim=True)
        loss_loc = F.smooth_l1_loss(loc[pos], loc_t[pos], reduction="sum")

        loss_conf = F.cross_entropy(conf.flatten(0, 1), labels.flatten(), reduction="none").view(b, -1)
        # rank the negatives only
        ranking = loss_conf  # cause
        ranking[pos] = 0  # also
        rank = ranking.argsort(1, descending=True).argsort(1)
        num_neg = (self.ratio * num_pos).clamp(max=pos.size(1) - 1)
        neg = (rank < num_neg) & ~pos

        n = num_pos.sum().clamp(min=1)
        return loss_loc / n, loss_conf[pos | neg].sum() / n


def targets(b, priors, classes=4, p=0.1):
    labels = torch.where(torch.rand(b, priors) < p, torch.randint(1, classes, (b, priors)), 0)
    return torch.randn(b, priors, 4) * 0.1, labels


def run():
    torch.manual_seed(0)
    model, criterion = MiniSSD(), MultiBoxLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=5e-4)
    for _ in range(3):
        x = torch.randn(2, 3, 16, 16)
        loc, conf = model(x)
        loc_t, labels = targets(2, loc.size(1))
        conf.retain_grad()
        loss_loc, loss_conf = criterion(loc, conf, loc_t, labels)
        optimizer.zero_grad()
        (loss_loc + loss_conf).backward()
        optimizer.step()
    return conf.grad[labels > 0], conf.grad[labels == 0]


def verify(outcome):
    positives, negatives = outcome
    assert len(positives) and positives.eq(0).all() and negatives.abs().max() > 0


TRUTH = Truth(
    fault="ranking is the loss tensor itself; zeroing it in place removes the positives from the class loss",
    names=("ranking", "loss_conf"),
    repair=("ranking = loss_conf.detach().clone()",),
)
