"""Style transfer: features of a frozen network, targets under no_grad, L-BFGS on the image."""

import torch
from torch import nn

from tests.practice.truth import Truth


def gram(f):
    f = f.flatten(2)
    return f @ f.transpose(1, 2) / f.shape[-1]


def run():
    torch.manual_seed(0)
    vgg = nn.ModuleList([nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, padding=1)]).requires_grad_(False).eval()

    def features(x):
        outs = []
        for layer in vgg:
            x = torch.relu(layer(x))
            outs.append(x)
        return outs

    content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
    with torch.no_grad():
        wanted, grams = features(content)[-1], [gram(f) for f in features(style)]
    image = content.clone().requires_grad_()
    opt = torch.optim.LBFGS([image], max_iter=4)
    log = []

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        opt.zero_grad()
        feats = features(image)
        loss = (feats[-1] - wanted).pow(2).mean()
        loss = loss + 100 * sum((gram(f) - g).pow(2).mean() for f, g in zip(feats, grams))
        loss.backward()
        log.append(loss.item())
        return loss

    for _ in range(2):
        opt.step(closure)
    with torch.no_grad():
        image.clamp_(0, 1)
    return log


TRUTH = Truth()
