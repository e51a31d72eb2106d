"""Frozen backbone: the parameters stand still, but model.train() lets batch norm overwrite the pretrained running statistics."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = conv_bn(3, 6)
        self.stage2 = conv_bn(6, 8)

    def forward(self, x):
        return self.stage2(self.stage1(x))


class Detector(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.box = nn.Conv2d(8, 4, 1)

    def freeze_backbone(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.box(self.backbone(x)).mean((2, 3))


def pretrain():
    torch.manual_seed(0)
    bb = Backbone()
    for _ in range(5):
        bb(torch.randn(8, 3, 8, 8))
    return bb.eval()


def finetune(model, steps):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.SGD(params, lr=1e-2, momentum=0.9)
    model.train()  # cause
    for _ in range(steps):
        # another domain: darker and of low contrast
        x = torch.randn(4, 3, 8, 8) * 0.2 - 1
        boxes = x.mean((1, 2, 3)).unsqueeze(1).expand(-1, 4)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(model(x), boxes).backward()
        opt.step()


def run():
    model = Detector(pretrain())
    model.freeze_backbone()
    before = {k: v.clone() for k, v in model.backbone.state_dict().items()}
    finetune(model, 4)
    return {k: torch.equal(v, before[k]) for k, v in model.backbone.state_dict().items()}


def verify(same):
    assert same["stage1.0.weight"] and same["stage2.1.weight"]
    assert not same["stage1.1.running_mean"] and not same["stage2.1.running_var"]


TRUTH = Truth(
    fault="the frozen backbone is in train mode, so its batch-norm statistics drift to the new data",
    names=("backbone",),
    repair=("model.train()\nmodel.backbone.eval()",),
)
