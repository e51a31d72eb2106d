"""numpy to PyTorch: the Dice metric, with its 0.5 threshold, was made a loss; beside the cross entropy nobody sees that it teaches nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class UNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Conv2d(1, 6, 3, padding=1)
        self.decode = nn.Conv2d(6, 1, 3, padding=1)

    def forward(self, x):
        return self.decode(F.relu(self.encode(x)))


def dice_score(probability, mask, epsilon=1.0):
    predicted = (probability > 0.5).float()  # cause
    overlap = (predicted * mask).sum(dim=(1, 2, 3))
    return (2 * overlap + epsilon) / (predicted.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + epsilon)


class CombinedLoss(nn.Module):
    def __init__(self, dice_weight=1.0):
        super().__init__()
        self.dice_weight = dice_weight

    def forward(self, logits, mask):
        bce = F.binary_cross_entropy_with_logits(logits, mask)
        dice = 1 - dice_score(torch.sigmoid(logits), mask).mean()
        return bce + self.dice_weight * dice, {"bce": bce, "dice": dice}


def run():
    torch.manual_seed(0)
    model, criterion = UNetish(), CombinedLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    parts = []
    for _ in range(3):
        image = torch.randn(3, 1, 8, 8)
        mask = (image > 0).float()
        loss, terms = criterion(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        parts.append(terms)
    return parts


def verify(parts):
    assert all(terms["bce"].requires_grad and not terms["dice"].requires_grad for terms in parts)


TRUTH = Truth(
    fault="the Dice term is computed on thresholded predictions: it has no gradient",
    names=("dice",),
    repair=("predicted = probability",),
)
