"""BIM: after the first step the adversarial image is no leaf any more, and its .grad is None."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


class BIM:
    def __init__(self, model, eps=8 / 255, alpha=2 / 255, steps=3):
        self.model, self.eps, self.alpha, self.steps = model, eps, alpha, steps
        self.loss = nn.CrossEntropyLoss()

    def __call__(self, images, labels):
        ori = images.clone().detach()
        adv = images.clone().detach().requires_grad_(True)
        for _ in range(self.steps):
            cost = self.loss(self.model(adv), labels)
            self.model.zero_grad()
            cost.backward()
            adv = adv + self.alpha * adv.grad.sign()  # symptom
            lower = torch.clamp(ori - self.eps, min=0)
            adv = torch.max(torch.min(adv, ori + self.eps), lower).clamp(max=1)  # cause
        return adv.detach()


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(
        Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 16, 5),
    ).eval()
    attack = BIM(net)
    for _ in range(2):
        images, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 5, (4,))
        adv = attack(images, labels)
        print(f"clean {accuracy(net, images, labels):.2f} robust {accuracy(net, adv, labels):.2f}")


TRUTH = Truth(
    fault="the gradient is read off a non-leaf",
    raises="'NoneType' object has no attribute 'sign'",
    names=("adv",),
    repair=("adv = torch.max(torch.min(adv, ori + self.eps), lower).clamp(max=1).detach().requires_grad_(True)",),
)
