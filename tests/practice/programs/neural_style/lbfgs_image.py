"""Neural style transfer: the image is the parameter, it is clamped in place in the closure, the network stays frozen in eval; all right."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

from tests.practice.truth import Truth


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


def get_style_model_and_losses(
    cnn, style_img, content_img, content_layers=("conv_2",), style_layers=("conv_1", "conv_2")
):
    model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    content_losses, style_losses, i = [], [], 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name, layer = f"relu_{i}", nn.ReLU(inplace=False)
        model.add_module(name, layer)
        if name in content_layers:
            content_losses.append(ContentLoss(model(content_img)))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name in style_layers:
            style_losses.append(StyleLoss(model(style_img)))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    return model, style_losses, content_losses


def run_style_transfer(cnn, content_img, style_img, input_img, num_steps=6, style_weight=1e3, content_weight=1.0):
    model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img)
    input_img.requires_grad_(True)
    model.eval()
    model.requires_grad_(False)
    optimizer = optim.LBFGS([input_img], max_iter=3)
    history = []
    while len(history) <= num_steps:

        def closure():
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            style_score = sum(sl.loss for sl in style_losses) * style_weight
            content_score = sum(cl.loss for cl in content_losses) * content_weight
            loss = style_score + content_score
            loss.backward()
            history.append(loss.item())
            return style_score + content_score

        optimizer.step(closure)
    with torch.no_grad():
        input_img.clamp_(0, 1)
    return history, input_img


def run():
    torch.manual_seed(0)
    cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU())
    content_img, style_img = torch.rand(1, 3, 10, 10), torch.rand(1, 3, 10, 10)
    weights = [p.detach().clone() for p in cnn.parameters()]
    history, image = run_style_transfer(cnn, content_img, style_img, content_img.clone())
    fixed = all(torch.equal(w, p) for w, p in zip(weights, cnn.parameters()))
    return history, fixed, torch.equal(image, content_img), float(image.detach().min()), float(image.detach().max())


def verify(outcome):
    history, fixed, same, low, high = outcome
    assert history[-1] < history[0] and fixed and not same and low >= 0 and high <= 1, outcome


TRUTH = Truth()
