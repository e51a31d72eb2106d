"""Neural style: the image is the only parameter, targets are detached once, and it is clamped after each step."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Content(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = nn.functional.mse_loss(x, self.target)
        return x


class Style(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = self.gram(target).detach()

    @staticmethod
    def gram(x):
        f = x.flatten(2).squeeze(0)
        return f @ f.t() / f.numel()

    def forward(self, x):
        self.loss = nn.functional.mse_loss(self.gram(x), self.target)
        return x


def run():
    torch.manual_seed(0)
    content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
    conv1, conv2 = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
    s1 = Style(conv1(style))
    c2 = Content(conv2(torch.relu(conv1(content))))
    model = nn.Sequential(conv1, s1, nn.ReLU(), conv2, c2)
    model.eval().requires_grad_(False)
    image = content.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS([image], max_iter=3)
    for _ in range(3):

        def closure():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            model(image)
            loss = 10 * s1.loss + c2.loss
            loss.backward()
            return loss

        optimizer.step(closure)
    with torch.no_grad():
        image.clamp_(0, 1)
    return image


TRUTH = Truth()
