"""Super-resolution: the pixel loss is measured on the picture as it is saved, rounded to 8 bits, whose gradient is zero."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, 5, 1, 2)
        self.conv2 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv3 = nn.Conv2d(16, 8, 3, 1, 1)
        self.conv4 = nn.Conv2d(8, upscale_factor**2, 3, 1, 1)
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        for conv in (self.conv1, self.conv2, self.conv3):
            init.orthogonal_(conv.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


def to_image(x):
    """What a viewer will see: eight bits for a pixel."""
    return (x * 255.0).clamp(-255, 511).round() / 255.0


class SRLoss(nn.Module):
    """Pixel loss and a small total variation of the raw output."""

    def __init__(self, tv_weight=1e-2):
        super().__init__()
        self.mse = nn.MSELoss()
        self.tv_weight = tv_weight
        self.parts = {}

    def forward(self, output, target):
        pixel = self.mse(to_image(output), target)  # cause
        tv = (output[..., 1:] - output[..., :-1]).abs().mean() + (output[..., 1:, :] - output[..., :-1, :]).abs().mean()
        self.parts = {"pixel": pixel, "tv": tv}
        return pixel + self.tv_weight * tv


class DatasetFromTensor(torch.utils.data.Dataset):
    def __init__(self, images, upscale_factor):
        self.images, self.factor = images, upscale_factor

    def __getitem__(self, index):
        target = self.images[index]
        return F.interpolate(target[None], scale_factor=1 / self.factor, mode="bicubic", antialias=True)[0].clamp(
            0, 1
        ), target

    def __len__(self):
        return len(self.images)


def train(model, loader, criterion, optimizer, reach):
    model.train()
    epoch_loss = 0
    for input, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        g = torch.autograd.grad(criterion.parts["pixel"], model.conv4.weight, retain_graph=True)[0]
        reach.append(float(g.abs().max()))
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    return epoch_loss / len(loader)


@torch.no_grad()
def test(model, loader):
    model.eval()
    avg_psnr = 0
    for input, target in loader:
        mse = F.mse_loss(to_image(model(input)), to_image(target))
        avg_psnr += 10 * math.log10(1 / mse.item())
    return avg_psnr / len(loader)


def run():
    torch.manual_seed(123)
    data = DatasetFromTensor(torch.rand(12, 1, 12, 12), 2)
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    model = Net(upscale_factor=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    reach = []
    for _ in range(2):
        train(model, loader, SRLoss(), optimizer, reach)
        test(model, loader)
    return reach


def verify(reach):
    assert max(reach) == 0


TRUTH = Truth(
    fault="round() in the loss has zero gradient, the pixel loss trains nothing",
    names=("round",),
    repair=("pixel = self.mse(output, target)",),
)
