"""HiFi-GAN style vocoder: the initialisation writes into weights that weight norm recomputes, and is lost."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


def init_weights(module, mean=0.0, std=0.01):
    if isinstance(module, (nn.Conv1d, nn.ConvTranspose1d)):
        module.weight.data.normal_(mean, std)  # cause


class ResBlock(nn.Module):
    def __init__(self, channels, dilations=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList(
            weight_norm(nn.Conv1d(channels, channels, 3, padding=d, dilation=d)) for d in dilations
        )
        self.convs.apply(init_weights)

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x


class Generator(nn.Module):
    def __init__(self, mels=8, channels=16, rates=(2, 2)):
        super().__init__()
        self.conv_pre = weight_norm(nn.Conv1d(mels, channels, 5, padding=2))
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for i, r in enumerate(rates):
            o = channels // 2 ** (i + 1)
            self.ups.append(weight_norm(nn.ConvTranspose1d(o * 2, o, 2 * r, r, padding=r // 2)))
            self.blocks.append(ResBlock(o))
        self.conv_post = weight_norm(nn.Conv1d(o, 1, 5, padding=2))
        self.ups.apply(init_weights)

    def forward(self, mel):
        x = self.conv_pre(mel)
        for up, res in zip(self.ups, self.blocks):
            x = res(up(F.leaky_relu(x, 0.1)))
        return torch.tanh(self.conv_post(F.leaky_relu(x, 0.1)))


def spectral_loss(fake, real, n_fft=16):
    window = torch.hann_window(n_fft)
    spec = lambda w: torch.stft(w.squeeze(1), n_fft, n_fft // 4, window=window, return_complex=True).abs()  # noqa: E731
    return F.l1_loss(spec(fake) + 1e-5, spec(real) + 1e-5)


def utterances(n=3, frames=16):
    t = torch.arange(frames * 4).float()
    pitch = torch.rand(n, 1) * 0.5 + 0.1
    wave = torch.sin(t * pitch).unsqueeze(1) * 0.7
    mel = F.avg_pool1d(wave.abs(), 4).repeat(1, 8, 1) + 0.05 * torch.randn(n, 8, frames)
    return mel, wave


def run():
    torch.manual_seed(0)
    model = Generator()
    spread = {
        n: m.weight.detach().std().item()
        for n, m in model.named_modules()
        if n.startswith("ups.") and hasattr(m, "stride")
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.8, 0.99))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.999)
    for _ in range(3):
        mel, wave = utterances()
        fake = model(mel)[..., : wave.size(-1)]
        loss = F.l1_loss(fake, wave[..., : fake.size(-1)]) + spectral_loss(fake, wave[..., : fake.size(-1)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return spread


def verify(spread):
    assert len(spread) == 2 and all(std > 0.05 for std in spread.values())


TRUTH = Truth(
    fault="under weight_norm `weight` is computed anew at each access: normal_ fills a temporary, the init is lost",
    names=("weight", "normal_", "weight_norm"),
    repair=("with torch.no_grad(): module.weight = torch.randn_like(module.weight) * std + mean",),
)
