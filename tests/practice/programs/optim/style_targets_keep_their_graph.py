"""Style transfer: the Gram matrices of the style image carry the graph of a learned transform."""

import torch
from torch import nn

from tests.practice.truth import Truth


def gram(f):
    f = f.flatten(2)
    return f @ f.transpose(1, 2) / f.shape[-1]


def run():
    torch.manual_seed(0)
    vgg = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1))
    style, image = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8, requires_grad=True)
    targets = gram(vgg(style))  # cause
    opt = torch.optim.Adam([image], 0.02)
    for _ in range(2):
        loss = (gram(vgg(image)) - targets).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return image


TRUTH = Truth(
    fault="the targets are computed once with their graph",
    raises="Trying to backward through the graph a second time",
    names=("targets",),
    repair=("targets = gram(vgg(style)).detach()",),
)
