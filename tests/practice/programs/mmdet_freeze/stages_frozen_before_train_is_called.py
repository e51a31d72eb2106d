"""mmdet-like: train() freezes the stages and then calls super().train(), which sets their BatchNorm to train mode again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvModule(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


class ResNet(nn.Module):
    def __init__(self, frozen_stages=1, widths=(8, 12, 16)):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.stem = ConvModule(3, widths[0])
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            self.add_module(f"layer{i}", ConvModule(a, b))
        self._freeze_stages()

    def _freeze_stages(self):
        stages = [self.stem] + [getattr(self, f"layer{i}") for i in range(1, self.frozen_stages + 1)]
        for m in stages:
            m.eval()
            for p in m.parameters():
                p.requires_grad = False

    def forward(self, x):
        return self.layer2(self.layer1(self.stem(x)))

    def train(self, mode=True):
        self._freeze_stages()  # cause
        super().train(mode)  # cause
        return self


class ImageClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = ResNet()
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x).mean((2, 3)))


class EpochBasedRunner:
    def __init__(self, model):
        self.model = model
        params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=1e-4)

    def train(self, loader):
        self.model.train()
        for img, label in loader:
            loss = F.cross_entropy(self.model(img), label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def val(self, loader):
        self.model.eval()
        return [self.model(img).argmax(1) for img, _ in loader]


def run():
    torch.manual_seed(0)
    runner = EpochBasedRunner(ImageClassifier())
    stem = runner.model.backbone.stem
    weight, mean = stem.conv.weight.detach().clone(), stem.bn.running_mean.clone()
    loader = [(torch.randn(4, 3, 16, 16) + 1, torch.randint(0, 3, (4,))) for _ in range(2)]
    for _ in range(2):
        runner.train(loader)
        runner.val(loader)
    return (stem.conv.weight - weight).abs().max().item(), (stem.bn.running_mean - mean).abs().max().item()


def verify(outcome):
    weight, mean = outcome
    assert weight == 0.0
    assert mean > 0.0


TRUTH = Truth(
    fault="_freeze_stages() runs before super().train(): the BatchNorms of the frozen stages go on in train mode and move their statistics",
    names=("stem.bn",),
    repair=("super().train(mode)", "self._freeze_stages()"),
)
