"""A small vocoder GAN: the real features are targets without grad, the critic is not cleared by the generator's turn."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([weight_norm(nn.Conv1d(1, 8, 9, 2, 4)), weight_norm(nn.Conv1d(8, 8, 9, 2, 4))])
        self.post = weight_norm(nn.Conv1d(8, 1, 3, 1, 1))

    def forward(self, wave):
        features = []
        for layer in self.layers:
            wave = F.leaky_relu(layer(wave), 0.1)
            features.append(wave)
        return self.post(wave), features


def log_spectrum(wave):
    spec = torch.stft(wave.squeeze(1), 32, 8, window=torch.hann_window(32), return_complex=True)
    return torch.log(spec.abs().clamp_min(1e-5))


def run():
    torch.manual_seed(0)
    generator = nn.Sequential(
        weight_norm(nn.ConvTranspose1d(6, 8, 8, 4, 2)),
        nn.LeakyReLU(0.1),
        weight_norm(nn.Conv1d(8, 1, 7, 1, 3)),
        nn.Tanh(),
    )
    critic = Critic()
    opt_g = torch.optim.AdamW(generator.parameters(), 2e-4, betas=(0.8, 0.99))
    opt_d = torch.optim.AdamW(critic.parameters(), 2e-4, betas=(0.8, 0.99))
    schedules = [torch.optim.lr_scheduler.ExponentialLR(opt, 0.99) for opt in (opt_g, opt_d)]
    for step in range(3):
        mel, real = torch.randn(2, 6, 32), torch.randn(2, 1, 128) * 0.1
        fake = generator(mel)
        opt_d.zero_grad()
        loss_d = (critic(real)[0] - 1).pow(2).mean() + critic(fake.detach())[0].pow(2).mean()
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        score, fakes = critic(fake)
        with torch.no_grad():
            _, reals = critic(real)
        matching = sum(F.l1_loss(a, b) for a, b in zip(fakes, reals))
        loss_g = (score - 1).pow(2).mean() + 2 * matching + 45 * F.l1_loss(log_spectrum(fake), log_spectrum(real))
        loss_g.backward()
        opt_g.step()
        for schedule in schedules:
            schedule.step()
        print(step, loss_d.item(), loss_g.item(), matching.detach().item())


TRUTH = Truth()
