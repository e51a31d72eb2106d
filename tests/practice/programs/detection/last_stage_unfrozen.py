"""Transfer learning: the last stage is set free, but the whole backbone is still run under no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def stage(inp, out, stride):
    return nn.Sequential(
        nn.Conv2d(inp, out, 3, stride=stride, padding=1, bias=False), nn.GroupNorm(2, out), nn.ReLU(inplace=True)
    )


class ResNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = stage(3, 4, 1), stage(4, 8, 2), stage(8, 8, 2)

    def forward(self, x):
        return self.layer3(self.layer2(self.layer1(x)))


class KeypointNet(nn.Module):
    def __init__(self, points=3, trainable=("layer3",)):
        super().__init__()
        self.backbone = ResNetish()
        for name, p in self.backbone.named_parameters():
            p.requires_grad = name.startswith(trainable)
        self.up = nn.ConvTranspose2d(8, 8, 4, stride=2, padding=1)
        self.heat = nn.Conv2d(8, points, 1)

    def forward(self, x):
        with torch.no_grad():  # cause
            feats = self.backbone(x)
        return self.heat(F.relu(self.up(feats)))


def gaussian_maps(points, size=4, sigma=0.7):
    axis = torch.arange(size).float()
    dy = (axis[None, None, :, None] - points[..., 1, None, None]) ** 2
    dx = (axis[None, None, None, :] - points[..., 0, None, None]) ** 2
    return torch.exp(-(dx + dy) / (2 * sigma**2))


def run():
    torch.manual_seed(0)
    model = KeypointNet()
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"training {sum(p.numel() for p in params)} of {sum(p.numel() for p in model.parameters())} weights")
    opt = torch.optim.Adam(params, lr=1e-3)
    for epoch in range(2):
        img, points = torch.rand(4, 3, 8, 8), torch.rand(4, 3, 2) * 3
        loss = F.mse_loss(model(img), gaussian_maps(points))
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            peak = model(img).flatten(2).argmax(-1)
        print(f"epoch {epoch} loss {loss.item():.4f} first peak {peak[0].tolist()}")
    return model


def verify(out):
    assert all(p.grad is None for p in out.backbone.layer3.parameters())


TRUTH = Truth(
    fault="the unfrozen stage runs without gradients",
    names=("layer3",),
    repair=("with torch.enable_grad():",),
)
