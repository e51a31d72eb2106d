"""EfficientDet-like accumulation: the number of batches is no multiple of the window: the rest is cleared unused at each epoch's start."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

PARAMS = {"num_gradients": 3, "lr": 1e-2, "epochs": 2}


class BiFPN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, p3, p4):
        w = self.w.relu()
        w = w / (w.sum() + 1e-4)
        return self.conv(F.silu(w[0] * p3 + w[1] * F.interpolate(p4, scale_factor=2)))


class EfficientDetBackbone(nn.Module):
    def __init__(self, channels=8, classes=3):
        super().__init__()
        self.c3 = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.c4 = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.bifpn = BiFPN(channels)
        self.classifier, self.regressor = nn.Conv2d(channels, classes, 1), nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        p3 = self.c3(x).relu()
        f = self.bifpn(p3, self.c4(p3).relu())
        return self.classifier(f), self.regressor(f)


class ModelWithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, imgs, labels, boxes):
        cls, reg = self.model(imgs)
        p = cls.sigmoid()
        onehot = F.one_hot(labels, cls.shape[1]).permute(0, 3, 1, 2).float()
        focal = (onehot - p).abs().pow(1.5) * F.binary_cross_entropy_with_logits(cls, onehot, reduction="none")
        return focal.mean(), F.smooth_l1_loss(reg, boxes)


def step(optimizer, model):
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def train(model, loader, optimizer):
    used = []
    for _ in range(PARAMS["epochs"]):
        model.train()
        optimizer.zero_grad()  # also
        waiting = 0
        for i, batch in enumerate(loader):
            cls_loss, reg_loss = model(*batch)
            loss = (cls_loss + reg_loss) / PARAMS["num_gradients"]
            loss.backward()
            waiting += 1
            if (i + 1) % PARAMS["num_gradients"] == 0:  # cause
                step(optimizer, model)
                used.append(waiting)
                waiting = 0
    return used


def run():
    torch.manual_seed(0)
    loader = [(torch.randn(2, 3, 16, 16), torch.randint(0, 3, (2, 8, 8)), torch.randn(2, 4, 8, 8)) for _ in range(5)]
    model = ModelWithLoss(EfficientDetBackbone())
    optimizer = torch.optim.AdamW(model.parameters(), lr=PARAMS["lr"])
    return train(model, loader, optimizer), len(loader) * PARAMS["epochs"]


def verify(outcome):
    used, computed = outcome
    assert sum(used) == 6 and computed == 10


TRUTH = Truth(
    fault="5 batches, windows of 3: the gradients of the last two batches of each epoch are computed and cleared without a step",
    names=("zero_grad", "step"),
    repair=('if (i + 1) % PARAMS["num_gradients"] == 0 or i + 1 == len(loader):',),
)
