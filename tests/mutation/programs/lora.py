import math

import torch
from torch import nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad_(False)
        self.base.bias.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        out = self.base(x)
        delta = F.linear(F.linear(x, self.lora_A), self.lora_B)
        return out + delta * self.scaling


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h = F.gelu(self.up(x))
        x = x + self.down(h)
        return self.head(x)


def add_lora(model):
    for param in model.parameters():
        param.requires_grad = False
    for name in ("up", "down"):
        setattr(model, name, LoRALinear(getattr(model, name)))
    return model


def run():
    model = add_lora(Base())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    for step in range(4):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model
