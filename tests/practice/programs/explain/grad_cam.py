"""Grad-CAM heat maps from a trained CNN."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(nn.Conv2d(6, 10, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(10, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model.eval()
        self.activation = None
        self.handle = layer.register_forward_hook(self._save)

    def _save(self, module, inputs, output):
        self.activation = output  # cause

    def __call__(self, x, target=None):
        logits = self.model(x)
        target = logits.argmax(-1) if target is None else target
        self.model.zero_grad()
        logits.gather(1, target.unsqueeze(1)).sum().backward()
        weights = self.activation.grad.mean(dim=(2, 3), keepdim=True)  # symptom
        cam = F.relu((weights * self.activation.detach()).sum(1, keepdim=True))
        cam = F.interpolate(cam, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return cam / (cam.amax((2, 3), keepdim=True) + 1e-8)

    def close(self):
        self.handle.remove()


def run():
    torch.manual_seed(0)
    net = Net()
    cam = GradCAM(net, net.layer2)
    maps = [cam(torch.rand(2, 1, 12, 12)) for _ in range(2)]
    cam.close()
    return maps


TRUTH = Truth(
    fault="the hooked activation is a non-leaf whose gradient is not retained",
    raises="'NoneType' object has no attribute 'mean'",
    names=("activation",),
    repair=("output.retain_grad()\nself.activation = output",),
)


def well(out):
    assert all(m.shape == (2, 1, 12, 12) and m.isfinite().all() for m in out)
