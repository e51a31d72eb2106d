"""nnU-Net-like: validation switches deep supervision off and does not switch it on again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class UNetDecoder(nn.Module):
    def __init__(self, features=(16, 8, 8), classes=2, deep_supervision=True):
        super().__init__()
        self.deep_supervision = deep_supervision
        self.ups = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in zip(features, features[1:]))
        self.stages = nn.ModuleList(nn.Conv2d(2 * b, b, 3, padding=1) for b in features[1:])
        self.seg_layers = nn.ModuleList(nn.Conv2d(b, classes, 1) for b in features[1:])

    def forward(self, skips):
        x, outputs = skips[-1], []
        for i, (up, stage) in enumerate(zip(self.ups, self.stages)):
            x = stage(torch.cat([up(x), skips[-(i + 2)]], 1)).relu()
            if self.deep_supervision or i == len(self.stages) - 1:
                outputs.append(self.seg_layers[i](x))
        outputs = outputs[::-1]
        return outputs if self.deep_supervision else outputs[0]


class PlainConvUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList(
            [
                nn.Conv2d(1, 8, 3, padding=1),
                nn.Conv2d(8, 8, 3, stride=2, padding=1),
                nn.Conv2d(8, 16, 3, stride=2, padding=1),
            ]
        )
        self.decoder = UNetDecoder()

    def forward(self, x):
        skips = []
        for conv in self.encoder:
            x = conv(x).relu()
            skips.append(x)
        return self.decoder(skips)


class nnUNetTrainer:
    def __init__(self):
        self.network = PlainConvUNet()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-2, momentum=0.99, nesterov=True)
        self.ds_weights = [2 / 3, 1 / 3]

    def loss(self, output, target):
        if not isinstance(output, (list, tuple)):
            output = [output]
        total = 0.0
        for w, out in zip(self.ds_weights, output):
            t = F.interpolate(target[:, None].float(), out.shape[2:], mode="nearest")[:, 0].long()
            total = total + w * F.cross_entropy(out, t)
        return total

    def on_train_epoch_start(self):
        self.network.train()  # cause

    def train_step(self, data, target):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.network(data), target).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 12)
        self.optimizer.step()

    def perform_actual_validation(self, data):
        self.network.decoder.deep_supervision = False  # also
        self.network.eval()
        with torch.no_grad():
            return self.network(data).argmax(1)


def run():
    torch.manual_seed(0)
    trainer = nnUNetTrainer()
    low = trainer.network.decoder.seg_layers[0].weight
    had_gradient = []
    for _ in range(3):
        trainer.on_train_epoch_start()
        for _ in range(2):
            data = torch.randn(2, 1, 16, 16)
            trainer.train_step(data, (data[:, 0] > 0).long())
        had_gradient.append(low.grad is not None)
        trainer.perform_actual_validation(torch.randn(1, 1, 16, 16))
    return had_gradient


def verify(outcome):
    assert outcome == [True, False, False]


TRUTH = Truth(
    fault="deep_supervision stays False after the first validation: the low-resolution seg layers get no gradient in later epochs",
    names=("seg_layers.0",),
    repair=("self.network.train(); self.network.decoder.deep_supervision = True",),
)
