"""SWA: the optimizer is given the averaged model's parameters, while the loss is the plain model's."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class WideBlock(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.bn = nn.BatchNorm2d(inp)
        self.conv = nn.Conv2d(inp, out, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(inp, out, 1, bias=False)

    def forward(self, x):
        return self.conv(F.relu(self.bn(x))) + self.shortcut(x)


def build(classes=3):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), WideBlock(4, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, classes)
    )


def run():
    torch.manual_seed(0)
    x, y = torch.randn(16, 1, 6, 6), torch.randint(0, 3, (16,))
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    model = build()
    swa_model = AveragedModel(model)
    opt = torch.optim.SGD(swa_model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0)  # cause
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
    swa_sched = SWALR(opt, swa_lr=0.01)
    start = [p.detach().clone() for p in model.parameters()]
    for epoch in range(3):
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            model.zero_grad()
            loss.backward()
            opt.step()
        if epoch >= 1:
            swa_model.update_parameters(model)
            swa_sched.step()
        else:
            sched.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    update_bn(loader, swa_model)
    swa_model.eval()
    with torch.no_grad():
        print("swa accuracy", (swa_model(x).argmax(1) == y).float().mean().item())
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, s) for p, s in zip(model.parameters(), start))


TRUTH = Truth(
    fault="the optimizer steps the averaged copy, which has no gradients",
    names=("swa_model",),
    repair=("opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0)",),
)
