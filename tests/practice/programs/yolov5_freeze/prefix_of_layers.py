"""YOLOv5: --freeze 2 freezes the first two layers, and by their prefix all from the tenth on as well."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, nc, ch):
        super().__init__()
        self.m = nn.Conv2d(ch, 5 + nc, 1)

    def forward(self, x):
        return self.m(x).flatten(2).transpose(1, 2)


class DetectionModel(nn.Module):
    def __init__(self, nc=3):
        super().__init__()
        widths = [3, 4, 4, 6, 6, 8, 8, 8, 8, 8, 8, 8]
        layers = [Conv(a, b, 3, 2 if i in (1, 4) else 1) for i, (a, b) in enumerate(zip(widths, widths[1:]))]
        self.model = nn.Sequential(*layers, Detect(nc, widths[-1]))

    def forward(self, x):
        return self.model(x)


def freeze_layers(model, freeze):
    freeze = [f"model.{x}" for x in (freeze if len(freeze) > 1 else range(freeze[0]))]  # cause
    for k, v in model.named_parameters():
        v.requires_grad = True  # train all layers
        if any(x in k for x in freeze):
            v.requires_grad = False


def smart_optimizer(model, lr, momentum, decay):
    g = [], [], []
    for v in model.modules():
        for p_name, p in v.named_parameters(recurse=False):
            if p_name == "bias":
                g[2].append(p)
            elif isinstance(v, nn.BatchNorm2d):
                g[1].append(p)
            else:
                g[0].append(p)
    optimizer = torch.optim.SGD(g[2], lr=lr, momentum=momentum, nesterov=True)
    optimizer.add_param_group({"params": g[0], "weight_decay": decay})
    optimizer.add_param_group({"params": g[1], "weight_decay": 0.0})
    return optimizer


def compute_loss(pred, targets):
    obj = F.binary_cross_entropy_with_logits(pred[..., 4], targets[..., 4])
    box = F.mse_loss(pred[..., :4].sigmoid(), targets[..., :4])
    return obj + 0.05 * box + F.cross_entropy(pred[..., 5:].flatten(0, 1), targets[..., 5].long().flatten())


def run():
    torch.manual_seed(0)
    model = DetectionModel()
    freeze_layers(model, [2])
    optimizer = smart_optimizer(model, lr=0.05, momentum=0.937, decay=5e-4)
    start = {k: v.detach().clone() for k, v in model.named_parameters()}
    for _ in range(3):
        pred = model(torch.rand(2, 3, 16, 16))
        targets = torch.rand(*pred.shape[:2], 6)
        targets[..., 5] = torch.randint(0, 3, targets.shape[:2]).float()
        compute_loss(pred, targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
        optimizer.step()
        optimizer.zero_grad()
    return sorted({int(k.split(".")[1]) for k, v in model.named_parameters() if torch.equal(start[k], v)})


def verify(frozen):
    assert frozen == [0, 1, 10, 11], frozen


TRUTH = Truth(
    fault="'model.1' is a part of 'model.10.conv.weight': the last layers and the head are frozen with the first two",
    names=("model.1",),
    repair=('freeze = [f"model.{x}." for x in (freeze if len(freeze) > 1 else range(freeze[0]))]',),
)
