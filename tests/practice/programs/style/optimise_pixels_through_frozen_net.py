"""Style transfer with L-BFGS: the image is the only leaf, the frozen net is cut short, pixels are clamped in place inside the closure."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target, self.loss = target.detach(), None

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target, self.loss = self.gram(target).detach(), None

    @staticmethod
    def gram(x):
        f = x.flatten(2)[0]
        return f @ f.T / x.numel()

    def forward(self, x):
        self.loss = F.mse_loss(self.gram(x), self.target)
        return x


def build(content, style):
    torch.manual_seed(0)
    cnn = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 2, 1),
    )
    cnn.eval().double().requires_grad_(False)
    model, losses = nn.Sequential(), []
    for i, layer in enumerate(cnn[:4]):  # the last convolution is never used
        model.append(nn.ReLU(inplace=False) if isinstance(layer, nn.ReLU) else layer)
        if isinstance(layer, nn.Conv2d):
            probe = StyleLoss(model(style)) if i == 0 else ContentLoss(model(content))
            model.append(probe)
            losses.append(probe)
    return cnn, model, losses


def run():
    g = torch.Generator().manual_seed(1)
    content, style = (torch.rand(1, 1, 6, 6, generator=g, dtype=torch.double) for _ in range(2))
    cnn, model, losses = build(content, style)
    image = content.clone().requires_grad_()
    image.data.add_(0.3 * torch.randn(image.shape, generator=g, dtype=torch.double))
    opt = torch.optim.LBFGS([image], lr=0.5, max_iter=4)
    log = []

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        opt.zero_grad()
        model(image)
        loss = 50 * losses[0].loss + losses[1].loss
        loss.backward()
        log.append((image.detach().clone(), image.grad.clone(), loss.item()))
        return loss

    for _ in range(3):
        opt.step(closure)
    with torch.no_grad():
        image.clamp_(0, 1)
    return cnn, content, style, image.detach(), log


def verify(outcome):
    cnn, content, style, image, log = outcome
    w0, b0, w2, b2 = cnn[0].weight, cnn[0].bias, cnn[2].weight, cnn[2].bias
    deep = lambda x: F.conv2d(F.conv2d(x, w0, b0, padding=1).relu(), w2, b2, padding=1)
    gram = lambda x: torch.einsum("cij,dij->cd", *[F.conv2d(x, w0, b0, padding=1)[0]] * 2) / 144
    for x, grad, value in log:
        x = x.requires_grad_()
        loss = 50 * (gram(x) - gram(style)).square().mean() + (deep(x) - deep(content)).square().mean()
        assert abs(loss.item() - value) < 1e-9
        assert torch.allclose(torch.autograd.grad(loss, x)[0], grad, atol=1e-9)
    assert log[-1][2] < log[0][2] and 0 <= image.min() and image.max() <= 1
    assert all(p.grad is None for p in cnn.parameters())


TRUTH = Truth()
