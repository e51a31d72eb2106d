"""Quantization-aware training with a learned scale: the scale goes in as a number, which silences an error and stops its learning."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LearnedScaleQuantizer(nn.Module):
    def __init__(self, bits, signed=True):
        super().__init__()
        self.qmin, self.qmax = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("zero_point", torch.zeros(1))
        self.register_buffer("initialised", torch.tensor(False))

    @torch.no_grad()
    def initialise(self, x):
        self.scale.copy_(2 * x.abs().mean() / self.qmax**0.5)
        self.initialised.fill_(True)

    def forward(self, x):
        if not self.initialised:
            self.initialise(x)
        return torch.fake_quantize_per_tensor_affine(x, self.scale.item(), 0, self.qmin, self.qmax)  # cause


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__(n_in, n_out)
        self.weight_quant = LearnedScaleQuantizer(bits)
        self.input_quant = LearnedScaleQuantizer(8)

    def forward(self, x):
        return F.linear(self.input_quant(x), self.weight_quant(self.weight), self.bias)


class KeywordSpotter(nn.Module):
    def __init__(self, frames=10, mels=6, classes=4):
        super().__init__()
        self.fc1 = QuantLinear(frames * mels, 16)
        self.norm = nn.BatchNorm1d(16)
        self.fc2 = QuantLinear(16, classes)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x.flatten(1)))))


def param_groups(model, lr):
    scales = [p for n, p in model.named_parameters() if n.endswith(".scale")]
    others = [p for n, p in model.named_parameters() if not n.endswith(".scale")]
    return [{"params": others, "weight_decay": 1e-4}, {"params": scales, "lr": lr / 10, "weight_decay": 0.0}]


def finetune(model, steps=3, lr=1e-2):
    optimizer = torch.optim.Adam(param_groups(model, lr), lr=lr)
    model.train()
    history = []
    for _ in range(steps):
        x, y = torch.randn(8, 10, 6), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append([m.scale.item() for m in model.modules() if isinstance(m, LearnedScaleQuantizer)])
    return history


def run():
    torch.manual_seed(0)
    return finetune(KeywordSpotter())


def verify(outcome):
    assert outcome[0] == outcome[1] == outcome[2], outcome


TRUTH = Truth(
    fault="scale.item() cuts the learned scale from the loss: it stands still",
    names=("scale",),
    repair=(
        "return torch._fake_quantize_learnable_per_tensor_affine("
        "x, self.scale, self.zero_point, self.qmin, self.qmax, (x.numel() * self.qmax) ** -0.5)",
    ),
)
