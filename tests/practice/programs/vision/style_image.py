"""Neural style transfer: optimize the pixels of one picture."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def gram(f):
    b, c, h, w = f.shape
    f = f.reshape(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, stride=2, padding=1)])
        self.requires_grad_(False)

    def forward(self, x):
        feats = []
        for stage in self.stages:
            x = stage(x).relu()
            feats.append(x)
        return feats


def initial_image(content, noise_ratio=0.3):
    noise = torch.rand_like(content)
    start = content.clone().requires_grad_(True)
    return start * (1 - noise_ratio) + noise * noise_ratio  # cause


def transfer(content, style, steps=4, style_weight=50.0):
    net = Extractor()
    c_feat = net(content)[-1]
    s_grams = [gram(f) for f in net(style)]
    img = initial_image(content)
    opt = torch.optim.Adam([img], lr=0.02)  # symptom
    history = []
    for _ in range(steps):
        feats = net(img)
        loss = F.mse_loss(feats[-1], c_feat)
        loss = loss + style_weight * sum(F.mse_loss(gram(f), g) for f, g in zip(feats, s_grams))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            img.clamp_(0, 1)
        history.append(loss.item())
    return img.detach(), history


def run():
    torch.manual_seed(0)
    content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)
    return transfer(content, style)


TRUTH = Truth(
    fault="the picture to optimize is the result of an operation, not a leaf",
    raises="can't optimize a non-leaf Tensor",
    names=("img",),
    repair=("return (start * (1 - noise_ratio) + noise * noise_ratio).detach().requires_grad_(True)",),
)


def well(out):
    img, history = out
    assert history[-1] < history[0]
