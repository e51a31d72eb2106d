"""Kendall's uncertainty weighting: the criterion's log-variances are in no optimizer."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class UncertaintyLoss(nn.Module):
    def __init__(self, num_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(num_tasks))

    def forward(self, *losses):
        total = 0
        for i, loss in enumerate(losses):
            total = total + 0.5 * torch.exp(-self.log_vars[i]) * loss + 0.5 * self.log_vars[i]
        return total


class DepthSegNet(nn.Module):
    def __init__(self, ch=8, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.seg = nn.Conv2d(ch, classes, 1)
        self.depth = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1))

    def forward(self, x):
        z = self.encoder(x)
        return self.seg(z), F.softplus(self.depth(z))


def loaders(n=3, bs=2):
    for _ in range(n):
        img = torch.rand(bs, 3, 8, 8)
        yield img, torch.randint(0, 4, (bs, 8, 8)), torch.rand(bs, 1, 8, 8) * 10


def train_one_epoch(model, criterion, opt, meter):
    model.train()
    for img, seg, depth in loaders():
        seg_logits, depth_pred = model(img)
        l_seg = F.cross_entropy(seg_logits, seg)
        valid = depth > 0.5
        l_depth = F.smooth_l1_loss(depth_pred[valid], depth[valid])
        loss = criterion(l_seg, l_depth)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter["seg"].append(l_seg.item())
        meter["depth"].append(l_depth.item())


def run():
    torch.manual_seed(0)
    model = DepthSegNet()
    criterion = UncertaintyLoss(2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)  # cause
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
    meter = {"seg": [], "depth": []}
    for epoch in range(2):
        train_one_epoch(model, criterion, opt, meter)
        sched.step()
        sigma = (0.5 * criterion.log_vars).exp().tolist()
        print(f"epoch {epoch} seg {meter['seg'][-1]:.3f} depth {meter['depth'][-1]:.3f} sigma {sigma}")
    return criterion


def verify(out):
    assert not out.log_vars.any()


TRUTH = Truth(
    fault="the task weights get gradients and are never stepped",
    names=("log_vars",),
    repair=("opt = torch.optim.AdamW([*model.parameters(), *criterion.parameters()], lr=1e-3, weight_decay=1e-2)",),
)
