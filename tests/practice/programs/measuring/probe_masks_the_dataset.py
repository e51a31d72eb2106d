"""Occlusion sensitivity: the probe blanks patches in place on a view of the training set."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PatchNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.patches = nn.Conv2d(1, 8, 2, stride=2)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.relu(self.patches(x)).mean((2, 3)))


class Images:
    def __init__(self, n=16):
        self.y = torch.randint(0, 2, (n,))
        self.x = torch.randn(n, 1, 6, 6) + 2.0 * self.y.view(-1, 1, 1, 1) + 1.0

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def batches(self, size=8):
        for i in range(0, len(self.y), size):
            yield self.x[i : i + size], self.y[i : i + size]


class Occlusion:
    """Drop of the score of the true class with one patch blanked."""

    def __init__(self, model, patch=2):
        self.model, self.patch = model, patch

    @torch.no_grad()
    def __call__(self, image, label):
        self.model.eval()
        base = self.model(image[None])[0, label]
        side = image.shape[-1] // self.patch
        heat = torch.zeros(side, side)
        for r in range(side):
            for c in range(side):
                occluded = image.view(1, *image.shape)  # cause
                rows = slice(r * self.patch, (r + 1) * self.patch)
                occluded[..., rows, c * self.patch : (c + 1) * self.patch] = 0.0
                heat[r, c] = base - self.model(occluded)[0, label]
        self.model.train()
        return heat


def run():
    torch.manual_seed(0)
    data = Images()
    original = data.x.clone()
    model = PatchNet()
    probe = Occlusion(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    changed = []
    for epoch in range(3):
        for x, y in data.batches():
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        probe(*data[epoch])
        changed.append(int((data.x != original).flatten(1).any(1).sum()))
    return changed


def verify(outcome):
    assert outcome == [1, 2, 3]


TRUTH = Truth(
    fault="view() shares memory with the data set: each probed image is blanked for good and trained on so",
    names=("view",),
    repair=("occluded = image[None].clone()",),
)
