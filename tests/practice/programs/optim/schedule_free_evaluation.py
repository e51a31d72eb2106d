"""Schedule-free AdamW: the optimizer is put in eval mode for the validation and not back into train mode."""

import schedulefree
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLPMixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mix_tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.mix_channels = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.mix_tokens(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mix_channels(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, dim=8, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, stride=4)
        self.block = MLPMixerBlock(4, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.block(self.stem(x).flatten(2).transpose(1, 2)).mean(1))


@torch.no_grad()
def validate(model, opt, x, y):
    model.eval()
    opt.eval()  # also
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    model = Mixer()
    opt = schedulefree.AdamWScheduleFree(model.parameters(), lr=2.5e-3, warmup_steps=2)
    val = torch.rand(8, 3, 8, 8), torch.randint(0, 4, (8,))
    opt.train()  # also
    for epoch in range(2):
        model.train()  # cause
        for _ in range(2):
            x, y = torch.rand(8, 3, 8, 8), torch.randint(0, 4, (8,))
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()  # symptom
        print(f"epoch {epoch} train {loss.item():.4f} val {validate(model, opt, *val)}")
    return model


TRUTH = Truth(
    fault="the optimizer is still in eval mode when it steps",
    raises="Optimizer was not in train mode when step is called",
    names=("train",),
    repair=("model.train()\nopt.train()",),
)
