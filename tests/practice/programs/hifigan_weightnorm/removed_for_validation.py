"""HiFi-GAN-like: weight norm is removed from the live generator before validation: new weights which no optimizer holds."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, channels, dilations=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList(
            weight_norm(nn.Conv1d(channels, channels, 3, padding=d, dilation=d)) for d in dilations
        )

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x

    def remove_weight_norm(self):
        for conv in self.convs:
            if parametrize.is_parametrized(conv):
                parametrize.remove_parametrizations(conv, "weight")


class Generator(nn.Module):
    def __init__(self, mels=6, channels=8):
        super().__init__()
        self.conv_pre = nn.Conv1d(mels, channels, 3, padding=1)
        self.up = nn.ConvTranspose1d(channels, channels, 4, stride=2, padding=1)
        self.resblock = ResBlock(channels)
        self.conv_post = nn.Conv1d(channels, 1, 3, padding=1)

    def forward(self, mel):
        return self.conv_post(self.resblock(self.up(self.conv_pre(mel)))).tanh()

    def remove_weight_norm(self):
        self.resblock.remove_weight_norm()


def spectral_l1(y, y_hat):
    window = torch.hann_window(8)
    s, s_hat = (torch.stft(w.squeeze(1), 8, 4, window=window, return_complex=True).abs() for w in (y, y_hat))
    return F.l1_loss(s_hat, s)


@torch.no_grad()
def validate(generator, mel, wav):
    generator.eval()
    generator.remove_weight_norm()  # cause
    error = spectral_l1(wav, generator(mel)).item()
    generator.train()
    return error


def run():
    torch.manual_seed(0)
    generator = Generator()
    optimizer = torch.optim.AdamW(generator.parameters(), lr=2e-3, betas=(0.8, 0.99))
    conv = generator.resblock.convs[0]
    moved = []
    for step in range(4):
        mel, wav = torch.randn(2, 6, 12), torch.randn(2, 1, 24).tanh()
        before = conv.weight.detach().clone()
        optimizer.zero_grad()
        loss = F.l1_loss(generator(mel), wav) + 0.1 * spectral_l1(wav, generator(mel))
        loss.backward()
        optimizer.step()
        moved.append((conv.weight.detach() - before).abs().max().item())
        if step == 1:
            validate(generator, mel, wav)
    return moved


def verify(outcome):
    assert outcome[0] > 0 and outcome[1] > 0
    assert outcome[2] == outcome[3] == 0.0


TRUTH = Truth(
    fault="remove_weight_norm replaces original0/original1 by a new weight that the optimizer does not have: the resblock stops learning",
    names=("resblock",),
    repair=("# parametrised as it is: the output is the same",),
)
