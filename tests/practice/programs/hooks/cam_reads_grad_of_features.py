"""Grad-CAM by hand: the gradient of feature maps is read without retain_grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, padding=1))
        self.classifier = nn.Linear(6, 3)

    def forward(self, x):
        self.maps = torch.relu(self.features(x))
        return self.classifier(self.maps.mean((2, 3)))


def cam(net, image, label):
    logits = net(image)
    logits[0, label].backward()
    weights = net.maps.grad.mean((2, 3), keepdim=True)  # cause
    return torch.relu((weights * net.maps).sum(1)).detach()


def run():
    torch.manual_seed(0)
    return cam(Net(), torch.randn(1, 1, 8, 8), 1)


TRUTH = Truth(
    fault="the feature maps are no leaf and retain no gradient",
    raises="'NoneType' object has no attribute 'mean'",
    names=("maps", "retain_grad"),
    repair=(
        "(grad,) = torch.autograd.grad(net(image)[0, label], net.maps)\nweights = grad.mean((2, 3), keepdim=True)",
    ),
)
