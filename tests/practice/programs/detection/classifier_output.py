"""ROI classifier: the head ends in a softmax, and cross_entropy takes the softmax of that once more."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RoIHead(nn.Module):
    def __init__(self, ch=4, pool=2, classes=4):
        super().__init__()
        self.pool = pool
        self.fc = nn.Sequential(nn.Linear(ch * pool * pool, 16), nn.ReLU())
        self.cls = nn.Sequential(nn.Linear(16, classes), nn.Softmax(dim=1))  # cause
        self.box = nn.Linear(16, 4)

    def roi_align(self, fmap, rois):
        theta = torch.zeros(len(rois), 2, 3)
        theta[:, 0, 0], theta[:, 1, 1] = rois[:, 2], rois[:, 3]
        theta[:, 0, 2], theta[:, 1, 2] = 2 * rois[:, 0] - 1, 2 * rois[:, 1] - 1
        grid = F.affine_grid(theta, (len(rois), fmap.shape[1], self.pool, self.pool), align_corners=False)
        return F.grid_sample(fmap.expand(len(rois), -1, -1, -1), grid, align_corners=False)

    def forward(self, fmap, rois):
        h = self.fc(self.roi_align(fmap, rois).flatten(1))
        return self.cls(h), self.box(h)


class FastRCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU())
        self.head = RoIHead()

    def forward(self, img, rois):
        return self.head(self.backbone(img), rois)


def detection_loss(scores, deltas, labels, targets):
    cls = F.cross_entropy(scores, labels)  # also
    fg = labels > 0
    reg = F.smooth_l1_loss(deltas[fg], targets[fg], reduction="sum") / max(1, len(labels))
    return cls, reg


def run():
    torch.manual_seed(0)
    model = FastRCNN()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    for it in range(3):
        img, rois = torch.rand(1, 3, 16, 16), torch.rand(8, 4) * 0.5 + 0.25
        labels, targets = torch.tensor([0, 0, 0, 0, 0, 1, 2, 3]), 0.1 * torch.randn(8, 4)
        scores, deltas = model(img, rois)
        cls, reg = detection_loss(scores, deltas, labels, targets)
        opt.zero_grad()
        (cls + reg).backward()
        opt.step()
        acc = (scores.argmax(1) == labels).float().mean().item()
        print(f"iter {it} cls {cls.item():.4f} reg {reg.item():.4f} acc {acc:.2f}")
    return scores


def verify(out):
    assert torch.allclose(out.sum(1), torch.ones(8))


TRUTH = Truth(
    fault="softmax is applied twice",
    names=("oftmax",),
    repair=("self.cls = nn.Linear(16, classes)",),
)
