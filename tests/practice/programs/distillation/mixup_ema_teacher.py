"""Semi-supervised: pseudo labels of a moving-average teacher, thresholded, sharpened, and mixed."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WRN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.Linear(6, 4)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class EMA:
    def __init__(self, model, decay=0.9):
        self.model = copy.deepcopy(model)
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    def update(self, student):
        ours = self.model.state_dict()
        for k, v in student.state_dict().items():
            if ours[k].dtype.is_floating_point:
                ours[k].mul_(self.decay).add_(v.detach(), alpha=1 - self.decay)
            else:
                ours[k].copy_(v)


def run():
    torch.manual_seed(0)
    student = WRN()
    ema = EMA(student)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for _ in range(3):
        x, y = torch.randn(8, 1, 8, 8), torch.randint(4, (8,))
        u = torch.randn(8, 1, 8, 8)
        with torch.no_grad():
            probs = ema.model(u).softmax(-1) ** 2
            probs = probs / probs.sum(-1, keepdim=True)
            keep = probs.amax(-1).ge(0.3).float()
        lam = float(torch.distributions.Beta(0.75, 0.75).sample())
        order = torch.randperm(8)
        logits = student(lam * x + (1 - lam) * x[order])
        sup = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[order])
        unsup = (F.cross_entropy(student(u + 0.1 * torch.randn_like(u)), probs, reduction="none") * keep).mean()
        optimizer.zero_grad()
        (sup + unsup).backward()
        optimizer.step()
        ema.update(student)
    return sup.item()


TRUTH = Truth()
