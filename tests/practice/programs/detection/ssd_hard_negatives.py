"""SSD: hard negatives are mined by ranks of a detached loss, and an image without an object adds only its background."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SSDHead(nn.Module):
    def __init__(self, classes=3, anchors=2):
        super().__init__()
        self.classes = classes
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(inplace=True))
        self.loc, self.conf = nn.Conv2d(8, anchors * 4, 3, padding=1), nn.Conv2d(8, anchors * classes, 3, padding=1)

    def forward(self, x):
        f = self.body(x)
        flat = lambda t, d: t.permute(0, 2, 3, 1).reshape(len(x), -1, d)
        return flat(self.loc(f), 4), flat(self.conf(f), self.classes)


class MultiBoxLoss(nn.Module):
    def forward(self, loc, conf, loc_t, conf_t):
        pos = conf_t > 0
        num_pos = pos.sum(1, keepdim=True)
        loss_l = F.smooth_l1_loss(loc[pos], loc_t[pos], reduction="sum")
        with torch.no_grad():
            mine = F.cross_entropy(conf.flatten(0, 1), conf_t.flatten(), reduction="none").view_as(conf_t)
            mine[pos] = 0
            _, loss_idx = mine.sort(1, descending=True)
            _, idx_rank = loss_idx.sort(1)
            num_neg = torch.clamp(3 * num_pos, min=1, max=pos.size(1) - 1)
            neg = (idx_rank < num_neg) & ~pos
        keep = pos | neg
        loss_c = F.cross_entropy(conf[keep], conf_t[keep], reduction="sum")
        N = max(1, num_pos.sum().item())
        return loss_l / N, loss_c / N


def run():
    torch.manual_seed(0)
    net, criterion = SSDHead(), MultiBoxLoss()
    biases = [p for n, p in net.named_parameters() if n.endswith("bias")]
    not_biases = [p for n, p in net.named_parameters() if not n.endswith("bias")]
    optimizer = torch.optim.SGD([{"params": biases, "lr": 2e-2}, {"params": not_biases}], lr=1e-2, momentum=0.9)
    log = []
    for step in range(3):
        images = torch.randn(2, 3, 8, 8)
        conf_t = torch.where(torch.rand(2, 32) < 0.15, torch.randint(1, 3, (2, 32)), 0)
        conf_t[1] = 0
        if step == 1:
            conf_t.zero_()
        loc, conf = net(images)
        loss_l, loss_c = criterion(loc, conf, torch.randn(2, 32, 4), conf_t)
        optimizer.zero_grad()
        (loss_l + loss_c).backward()
        optimizer.step()
        log.append((loss_l.item(), loss_c.item()))
    return net, log


TRUTH = Truth()


def verify(out):
    net, log = out
    assert log[1][0] == 0 and log[0][0] > 0 and all(0 < c < 100 for _, c in log)
    assert all(p.grad is not None for p in net.parameters())
