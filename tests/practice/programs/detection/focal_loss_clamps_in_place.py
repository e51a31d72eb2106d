"""Focal loss: the probabilities are clamped in place, and sigmoid saved them."""

import torch
from torch import nn

from tests.practice.truth import Truth


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0, eps=1e-6):
        super().__init__()
        self.alpha, self.gamma, self.eps = alpha, gamma, eps

    def forward(self, logits, targets):
        prob = torch.sigmoid(logits)
        prob.clamp_(self.eps, 1 - self.eps)  # cause
        positive = targets == 1
        right = torch.where(positive, prob, 1 - prob)
        weight = torch.where(positive, self.alpha, 1 - self.alpha) * (1 - right) ** self.gamma
        return -(weight * right.log()).sum() / positive.sum().clamp(min=1)


class RetinaHead(nn.Module):
    def __init__(self, channels=8, anchors=2, classes=3):
        super().__init__()
        tower = [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True)]
        self.tower = nn.Sequential(*tower, nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True))
        self.score = nn.Conv2d(channels, anchors * classes, 3, padding=1)
        self.boxes = nn.Conv2d(channels, anchors * 4, 3, padding=1)
        nn.init.constant_(self.score.bias, -4.6)

    def forward(self, features):
        scores, boxes = [], []
        for level in features:
            h = self.tower(level)
            scores.append(self.score(h).flatten(1))
            boxes.append(self.boxes(h).flatten(1))
        return torch.cat(scores, 1), torch.cat(boxes, 1)


def run(steps=2):
    torch.manual_seed(0)
    head, criterion = RetinaHead(), FocalLoss()
    optimizer = torch.optim.SGD(head.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    for _ in range(steps):
        features = [torch.randn(2, 8, size, size) for size in (8, 4)]
        scores, boxes = head(features)
        targets = (torch.rand_like(scores) < 0.05).float()
        wanted = torch.randn_like(boxes)
        loss = criterion(scores, targets) + nn.functional.smooth_l1_loss(boxes, wanted)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return loss.item()


TRUTH = Truth(
    fault="what sigmoid saved is clamped in place",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("sigmoid", "clamp_"),
    repair=("prob = prob.clamp(self.eps, 1 - self.eps)",),
)
