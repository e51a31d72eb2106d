"""Grad-CAM on a frozen net: outputs and their gradients are caught by hooks, copied to numpy, and the hooks go again."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.handle = layer.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        self.activation = output.detach()
        if output.requires_grad:
            output.register_hook(self.save_grad)

    def save_grad(self, grad):
        self.gradient = grad.detach()

    def __call__(self, image, label=None):
        image = image.clone().requires_grad_(True)
        logits = self.model(image)
        label = logits.argmax(1) if label is None else label
        logits.gather(1, label[:, None]).sum().backward()
        weights = self.gradient.mean((2, 3), keepdim=True)
        cam = F.relu((weights * self.activation).sum(1, keepdim=True))
        cam = F.interpolate(cam, image.shape[2:], mode="bilinear", align_corners=False)
        cam -= cam.amin((2, 3), keepdim=True)
        cam /= cam.amax((2, 3), keepdim=True).clamp_min(1e-8)
        return cam.squeeze(1).numpy(), image.grad.abs().amax(1).numpy()

    def close(self):
        self.handle.remove()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, 2, 1),
        nn.Tanh(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    cam, maps = GradCAM(model, model[3]), []
    for label in (None, torch.tensor([1, 2])):
        heat, saliency = cam(torch.randn(2, 3, 8, 8), label)
        maps.append((heat, saliency))
    cam.close()
    return model, maps


TRUTH = Truth()


def verify(out):
    model, maps = out
    assert all(p.grad is None for p in model.parameters()) and not model[3]._forward_hooks
    assert all(h.shape == (2, 8, 8) and np.isfinite(h).all() and s.max() > 0 for h, s in maps)
