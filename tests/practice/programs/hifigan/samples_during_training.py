"""HiFi-GAN: weight norm is removed to draw samples in the middle of the training, and the optimizer is left with the old halves."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from tests.practice.truth import Truth

LRELU_SLOPE = 0.1


class ResBlock(nn.Module):
    def __init__(self, channels, kernel_size=3, dilation=(1, 2)):
        super().__init__()
        self.convs = nn.ModuleList(
            [weight_norm(nn.Conv1d(channels, channels, kernel_size, 1, dilation=d, padding=d)) for d in dilation]
        )

    def forward(self, x):
        for c in self.convs:
            x = c(F.leaky_relu(x, LRELU_SLOPE)) + x
        return x


class Generator(nn.Module):
    def __init__(self, mels=5, channels=8):
        super().__init__()
        self.conv_pre = weight_norm(nn.Conv1d(mels, channels, 7, 1, padding=3))
        self.ups = nn.ModuleList([weight_norm(nn.ConvTranspose1d(channels, channels // 2, 4, 2, padding=1))])
        self.resblocks = nn.ModuleList([ResBlock(channels // 2)])
        self.conv_post = weight_norm(nn.Conv1d(channels // 2, 1, 7, 1, padding=3))

    def forward(self, x):
        x = self.conv_pre(x)
        for up, block in zip(self.ups, self.resblocks):
            x = block(up(F.leaky_relu(x, LRELU_SLOPE)))
        return torch.tanh(self.conv_post(F.leaky_relu(x)))

    def remove_weight_norm(self):
        for module in self.modules():
            if is_parametrized(module, "weight"):
                remove_parametrizations(module, "weight")


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(
            weight_norm(nn.Conv1d(1, 6, 5, 2, 2)), nn.LeakyReLU(LRELU_SLOPE), nn.Conv1d(6, 1, 3, 1, 1)
        )

    def forward(self, y):
        return self.convs(y)


@torch.no_grad()
def write_samples(generator, mels):
    generator.eval()
    generator.remove_weight_norm()  # cause
    audio = [generator(m) for m in mels]
    generator.train()
    return audio


def run():
    torch.manual_seed(0)
    generator, mpd = Generator(), Discriminator()
    optim_g = torch.optim.AdamW(generator.parameters(), 2e-3, betas=(0.8, 0.99))
    optim_d = torch.optim.AdamW(mpd.parameters(), 2e-3, betas=(0.8, 0.99))
    weights = []
    for step in range(4):
        x, y = torch.randn(3, 5, 8), torch.rand(3, 1, 16) * 2 - 1
        y_hat = generator(x)
        optim_d.zero_grad()
        loss_d = (1 - mpd(y)).pow(2).mean() + mpd(y_hat.detach()).pow(2).mean()
        loss_d.backward()
        optim_d.step()
        optim_g.zero_grad()
        loss_g = 45 * F.l1_loss(y_hat, y) + (1 - mpd(y_hat)).pow(2).mean()
        loss_g.backward()
        optim_g.step()
        if step == 1:
            write_samples(generator, [torch.randn(1, 5, 8)])
        weights.append(generator.conv_pre.weight.detach().clone())
    return torch.equal(weights[0], weights[1]), torch.equal(weights[1], weights[2]), torch.equal(weights[2], weights[3])


def verify(outcome):
    assert outcome == (False, True, True), outcome


TRUTH = Truth(
    fault="after remove_weight_norm() the weights are buffers (it ran under no_grad) and the optimizer holds the old halves: the generator stands still",
    names=("weight",),
    repair=("pass",),
)
