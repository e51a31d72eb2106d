"""Attention crop: the predicted centre is cast to integers for slicing, so the localisation network gets no gradient."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

SIZE, CROP = 12, 6


class Localiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, 2, 1)
        self.fc = nn.Linear(4, 2)

    def forward(self, img):
        h = torch.relu(self.conv(img)).mean((2, 3))
        return torch.sigmoid(self.fc(h)) * (SIZE - CROP)


class Glimpse(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.loc = Localiser()
        self.cls = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, n_classes))

    def crop(self, img, corner):
        patches = []
        for im, (r, c) in zip(img, corner.long()):  # cause
            patches.append(im[:, r : r + CROP, c : c + CROP])
        return torch.stack(patches)

    def forward(self, img):
        return self.cls(self.crop(img, self.loc(img)))


def pictures(n):
    img = torch.rand(n, 1, SIZE, SIZE) * 0.1
    label = torch.randint(0, 3, (n,))
    for i in range(n):
        r, c = torch.randint(0, SIZE - 4, (2,)).tolist()
        img[i, 0, r : r + 2 + label[i], c : c + 2] = 1
    return img, label


def train(model, optimizer, n_iter):
    for _ in range(n_iter):
        img, label = pictures(10)
        loss = nn.functional.cross_entropy(model(img), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(5)
    model = Glimpse()
    optimizer = torch.optim.Adam(
        [{"params": model.loc.parameters(), "lr": 1e-4}, {"params": model.cls.parameters()}], lr=1e-2
    )
    train(model, optimizer, 3)
    return {n: p.grad is not None for n, p in model.named_parameters()}


def verify(has_grad):
    assert not any(v for n, v in has_grad.items() if n.startswith("loc."))
    assert all(v for n, v in has_grad.items() if n.startswith("cls."))


TRUTH = Truth(
    fault="corner.long() and slicing are not differentiable, so the localiser gets no gradient",
    names=("loc", "long"),
    repair=(
        "lin = (torch.arange(CROP) + 0.5) * 2 / SIZE - 1\noff = corner * 2 / SIZE\ngy = (lin + off[:, :1]).unsqueeze(2).expand(-1, -1, CROP)\ngx = (lin + off[:, 1:]).unsqueeze(1).expand(-1, CROP, -1)\nreturn nn.functional.grid_sample(img, torch.stack([gx, gy], -1), align_corners=False)\nfor im, (r, c) in zip(img, corner.long()):",
    ),
)
