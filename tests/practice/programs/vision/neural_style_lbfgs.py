"""Vision: style transfer that optimizes an image by LBFGS and clamps it in the closure (healthy)."""

import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    size: int = 16
    num_steps: int = 6
    style_weight: float = 1e3
    content_weight: float = 1.0
    content_layers: tuple = ("conv_2",)
    style_layers: tuple = ("conv_1", "conv_2")


def gram_matrix(x):
    a, b, c, d = x.size()
    features = x.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()
        self.loss = None

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()
        self.loss = None

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


def features():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(inplace=True)
    )


def get_style_model_and_losses(cnn, style_img, content_img, cfg):
    cnn = copy.deepcopy(cnn)
    model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    content_losses, style_losses, i = [], [], 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        else:
            name = f"relu_{i}"
            layer = nn.ReLU(inplace=False)
        model.add_module(name, layer)
        if name in cfg.content_layers:
            content_losses.append(ContentLoss(model(content_img)))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name in cfg.style_layers:
            style_losses.append(StyleLoss(model(style_img)))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    return model, style_losses, content_losses


def run_style_transfer(cnn, content_img, style_img, input_img, cfg):
    model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img, cfg)
    input_img.requires_grad_(True)
    model.eval()
    model.requires_grad_(False)
    optimizer = torch.optim.LBFGS([input_img], max_iter=3)
    history = []
    while len(history) <= cfg.num_steps:

        def closure():
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            loss = cfg.style_weight * sum(sl.loss for sl in style_losses)
            loss = loss + cfg.content_weight * sum(cl.loss for cl in content_losses)
            loss.backward()
            history.append(loss.item())
            return loss

        optimizer.step(closure)
    with torch.no_grad():
        input_img.clamp_(0, 1)
    return history, model


def run():
    torch.manual_seed(0)
    cfg = Config()
    cnn = features()
    content, style = torch.rand(1, 3, cfg.size, cfg.size), torch.rand(1, 3, cfg.size, cfg.size).pow(2)
    start = content.clone()
    input_img = content.clone()
    history, model = run_style_transfer(cnn, content, style, input_img, cfg)
    same = all(torch.equal(a, b) for a, b in zip(cnn.parameters(), model.parameters()))
    return start, input_img.detach(), history, same


def verify(outcome):
    start, image, history, same = outcome
    assert not torch.equal(start, image) and same
    assert history[-1] < history[0] and image.min() >= 0 and image.max() <= 1


TRUTH = Truth()
