"""MONAI-tutorial-like: the best weights are kept as model.state_dict(), which is the live tensors: the last weights come back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DiceCELoss(nn.Module):
    def __init__(self, smooth=1e-5):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        p = logits.softmax(1)
        onehot = F.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).float()
        inter, denom = (p * onehot).sum((2, 3)), (p + onehot).sum((2, 3))
        dice = 1 - (2 * inter + self.smooth) / (denom + self.smooth)
        return dice.mean() + F.cross_entropy(logits, target)


class BasicUNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.InstanceNorm2d(8, affine=True), nn.PReLU())
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.final = nn.Conv2d(9, classes, 1)

    def forward(self, x):
        return self.final(torch.cat([self.up(self.down(x)), x], 1))


class DiceMetric:
    @torch.no_grad()
    def __call__(self, model, loader):
        model.eval()
        scores = []
        for image, label in loader:
            pred = model(image).argmax(1)
            scores.append((2 * (pred * label).sum() / (pred.sum() + label.sum()).clamp(min=1)).item())
        return sum(scores) / len(scores)


def make(n, noise):
    data = []
    for _ in range(n):
        image = torch.randn(2, 1, 16, 16)
        data.append((image, (image[:, 0] + noise * torch.randn(2, 16, 16) > 0).long()))
    return data


def fit(model, train, val, max_epochs, patience=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    loss_function, metric = DiceCELoss(), DiceMetric()
    best_metric, best_state, snapshot, waited = -1.0, None, None, 0
    for _ in range(max_epochs):
        model.train()
        for image, label in train:
            optimizer.zero_grad()
            loss_function(model(image), label).backward()
            optimizer.step()
        value = metric(model, val)
        if value > best_metric:
            best_metric, waited = value, 0
            best_state = model.state_dict()  # cause
            snapshot = model.final.weight.detach().clone()
        else:
            waited += 1
            if waited >= patience:
                break
    model.load_state_dict(best_state)
    return snapshot, waited


def run():
    torch.manual_seed(0)
    model = BasicUNet()
    train, val = make(2, 0.3), make(1, 0.3)
    val = [(image, 1 - label) for image, label in val]  # labels of another site: training makes it worse
    snapshot, waited = fit(model, train, val, max_epochs=4)
    return snapshot, model.final.weight.detach().clone(), waited


def verify(outcome):
    snapshot, restored, waited = outcome
    assert waited > 0
    assert not torch.equal(snapshot, restored)


TRUTH = Truth(
    fault="state_dict() returns the live tensors, so best_state follows training and load_state_dict restores nothing",
    names=("state_dict",),
    repair=("best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}",),
)
