"""A vocoder is adapted to a new speaker; its weight norm is folded first, because the export wants plain convolutions."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize

from tests.practice.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation))

    def forward(self, x):
        return x + self.conv(F.leaky_relu(x, 0.1))


class Generator(nn.Module):
    def __init__(self, n_mels=6, channels=8):
        super().__init__()
        self.conv_pre = parametrizations.weight_norm(nn.Conv1d(n_mels, channels, 5, padding=2))
        self.up = parametrizations.weight_norm(nn.ConvTranspose1d(channels, channels, 4, stride=2, padding=1))
        self.blocks = nn.Sequential(ResBlock(channels, 1), ResBlock(channels, 3))
        self.conv_post = parametrizations.weight_norm(nn.Conv1d(channels, 1, 5, padding=2))

    def forward(self, mel):
        return torch.tanh(self.conv_post(F.leaky_relu(self.blocks(self.up(self.conv_pre(mel))))))

    def remove_weight_norm(self):
        for module in self.modules():
            if parametrize.is_parametrized(module, "weight"):
                parametrize.remove_parametrizations(module, "weight")


class Trainer:
    def __init__(self, generator, lr=2e-3):
        self.generator = generator
        self.optimizer = torch.optim.AdamW(generator.parameters(), lr=lr, betas=(0.8, 0.99))  # also

    def fit(self, batches):
        self.generator.train()
        for mel, wave in batches:
            loss = F.l1_loss(self.generator(mel), wave)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()  # symptom
            print(f"l1 {loss.item():.4f}")


def run():
    torch.manual_seed(0)
    generator = Generator()
    trainer = Trainer(generator)
    generator.remove_weight_norm()  # cause
    before = {k: v.clone() for k, v in generator.state_dict().items()}
    trainer.fit([(torch.randn(2, 6, 10), torch.rand(2, 1, 20) - 0.5) for _ in range(3)])
    return generator, before


def verify(out):
    generator, before = out
    assert torch.equal(generator.conv_pre.weight, before["conv_pre.weight"])
    assert not torch.equal(generator.conv_pre.bias, before["conv_pre.bias"])


TRUTH = Truth(
    fault="the optimizer was made before the parametrizations were removed: it steps tensors the model no longer uses",
    names=("weight", "optimizer"),
    repair=("generator.remove_weight_norm()\ntrainer = Trainer(generator)",),
)
