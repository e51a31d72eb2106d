"""A detector's losses are summed into `torch.tensor(..., requires_grad=True)`: backward runs, and trains nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SSDHead(nn.Module):
    def __init__(self, ch=8, anchors=2, classes=3):
        super().__init__()
        self.classes = classes
        self.conf = nn.Conv2d(ch, anchors * classes, 3, padding=1)
        self.loc = nn.Conv2d(ch, anchors * 4, 3, padding=1)

    def forward(self, f):
        b = f.shape[0]
        conf = self.conf(f).permute(0, 2, 3, 1).reshape(b, -1, self.classes)
        return conf, self.loc(f).permute(0, 2, 3, 1).reshape(b, -1, 4)


class SSD(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = SSDHead()

    def forward(self, x, targets=None):
        conf, loc = self.head(self.body(x))
        if not self.training:
            return conf.softmax(-1), loc
        return self.losses(conf, loc, *targets)

    def losses(self, conf, loc, labels, boxes, negatives=3):
        pos = labels > 0
        n = pos.sum().clamp(min=1)
        ce = F.cross_entropy(conf.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        mined = ce.detach().masked_fill(pos, 0)
        hard = mined >= mined.topk(negatives * 2, dim=1).values[:, -1:]
        return {
            "loss_conf": (ce * (pos | hard)).sum() / n,
            "loss_loc": F.smooth_l1_loss(loc[pos], boxes[pos], reduction="sum") / n,
        }


def train_one_epoch(model, opt, data):
    model.train()
    for img, labels, boxes in data:
        loss_dict = model(img, (labels, boxes))
        loss = torch.tensor(sum(loss_dict.values()), requires_grad=True)  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
    return {k: v.item() for k, v in loss_dict.items()}


def run():
    torch.manual_seed(0)
    model = SSD()
    start = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    data = [(torch.rand(2, 3, 8, 8), (torch.rand(2, 8) < 0.3).long(), torch.randn(2, 8, 4)) for _ in range(2)]
    for epoch in range(2):
        print(epoch, train_one_epoch(model, opt, data))
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, s) for p, s in zip(model.parameters(), start))


TRUTH = Truth(
    fault="the loss is a new leaf without the graph of its terms",
    names=("loss",),
    repair=("loss = sum(loss_dict.values())",),
)
