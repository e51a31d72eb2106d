"""A detector in the manner of mmdetection: train() is overridden without super(), so nothing below ever changes mode."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConvModule(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class ResNet(nn.Module):
    def __init__(self, frozen_stages=1, norm_eval=True, drop=0.2):
        super().__init__()
        self.frozen_stages, self.norm_eval = frozen_stages, norm_eval
        self.layer1, self.layer2 = ConvModule(3, 6, 2), ConvModule(6, 8, 2)
        self.drop = nn.Dropout2d(drop)
        self._freeze_stages()

    def _freeze_stages(self):
        for i in range(1, self.frozen_stages + 1):
            m = getattr(self, f"layer{i}")
            m.eval()
            for param in m.parameters():
                param.requires_grad = False

    def forward(self, x):
        return self.drop(self.layer2(self.layer1(x)))

    def train(self, mode=True):
        self.training = mode  # cause
        self._freeze_stages()
        if mode and self.norm_eval:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self


class SingleStageDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = ResNet()
        self.neck = nn.Conv2d(8, 8, 1)
        self.cls_head, self.box_head = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 4, 1)

    def forward(self, img):
        feat = self.neck(self.backbone(img))
        return self.cls_head(feat), self.box_head(feat)

    def loss(self, img, cls, box):
        cls_score, bbox_pred = self(img)
        positive = cls.amax(1, keepdim=True)
        return (
            F.binary_cross_entropy_with_logits(cls_score, cls)
            + (F.smooth_l1_loss(bbox_pred, box, reduction="none") * positive).mean()
        )


class EvalHook:
    def __init__(self, images):
        self.images, self.repeats = images, []

    @torch.no_grad()
    def after_epoch(self, model):
        model.eval()
        first, second = model(self.images)[0], model(self.images)[0]
        self.repeats.append(torch.equal(first, second))


def run():
    torch.manual_seed(0)
    model = SingleStageDetector()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.02, momentum=0.9)
    hook = EvalHook(torch.randn(2, 3, 16, 16))
    for _ in range(2):
        model.train()
        for _ in range(2):
            cls = (torch.rand(2, 2, 4, 4) < 0.2).float()
            loss = model.loss(torch.randn(2, 3, 16, 16), cls, torch.randn(2, 4, 4, 4))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        hook.after_epoch(model)
    return hook.repeats


def verify(outcome):
    assert not any(outcome), outcome  # the dropout of the backbone is on in the evaluation


TRUTH = Truth(
    fault="ResNet.train() does not call super().train(mode): the dropout below stays on in evaluation",
    names=("drop",),
    repair=("super().train(mode)",),
)
