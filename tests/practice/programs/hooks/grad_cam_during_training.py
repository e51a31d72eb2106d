"""Between two epochs a saliency map is taken by hooks and `backward`, and the gradients are cleared after it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Cam:
    def __init__(self, model, layer):
        self.model, self.maps, self.grads = model, None, None
        self.handle = layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.maps = output
        if output.requires_grad:
            output.register_hook(self.keep_grad)

    def keep_grad(self, grad):
        self.grads = grad

    def __call__(self, x):
        self.model.zero_grad()
        logits = self.model(x)
        logits[0, logits.argmax()].backward()
        weights = self.grads.mean((2, 3), keepdim=True)
        cam = torch.relu((weights * self.maps).sum(1)).detach()
        self.model.zero_grad()
        self.handle.remove()
        return cam


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        for _ in range(2):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 1, 8, 8)), torch.randint(2, (4,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        Cam(model, model[0])(torch.randn(1, 1, 8, 8))


TRUTH = Truth()
