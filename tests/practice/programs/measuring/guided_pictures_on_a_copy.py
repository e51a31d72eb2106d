"""Guided backpropagation, Grad-CAM and captured features with hooks that return tensors, all on a copy or removed."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class CNN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(inplace=True)
        )
        self.fc = nn.Linear(6, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


class Explainer:
    def __init__(self, model):
        self.model = model

    def guided(self, image, target):
        twin = copy.deepcopy(self.model).eval()
        for name, module in twin.body.named_children():
            if isinstance(module, nn.ReLU):
                module.inplace = False
                module.register_full_backward_hook(lambda m, gin, gout: (gin[0].clamp(min=0),))
        image = image[None].clone().requires_grad_()
        twin(image)[0, target].backward()
        return image.grad[0, 0]

    def cam(self, image, target):
        kept = {}

        def keep(module, args, out):
            kept["maps"] = out
            return out

        handle = self.model.body[2].register_forward_hook(keep)
        try:
            score = self.model(image[None])[0, target]
            (grad,) = torch.autograd.grad(score, kept["maps"])
        finally:
            handle.remove()
        weights = grad.mean((2, 3), keepdim=True)
        return F.relu((weights * kept["maps"].detach()).sum(1))[0]


def train(explaining):
    torch.manual_seed(0)
    model = CNN()
    explain = Explainer(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    pictures = []
    for _ in range(3):
        y = torch.randint(0, 3, (10,))
        x = torch.randn(10, 1, 6, 6) + y.view(-1, 1, 1, 1)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        if explaining:
            pictures += [explain.guided(x[0], 1), explain.cam(x[0], 1)]
        optimizer.step()
    hooks = sum(len(m._forward_hooks) + len(m._backward_hooks) for m in model.modules())
    return model.state_dict(), pictures, hooks


def run():
    return train(True), train(False)


def verify(outcome):
    (explained, pictures, hooks), (plain, _, _) = outcome
    assert len(pictures) == 6 and hooks == 0
    assert all(torch.equal(explained[k], plain[k]) for k in plain)


TRUTH = Truth()
