"""LoRA on a U-Net's attention: the U-Net is frozen after the adapters were put into it, so they are frozen too."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4.0):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.scale = alpha / rank
        nn.init.normal_(self.down.weight, std=1 / rank)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.scale * self.up(self.down(x))


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + F.scaled_dot_product_attention(self.to_q(h), self.to_k(h), self.to_v(h))


class UNet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.conv_in = nn.Conv2d(2, dim, 3, padding=1)
        self.attn = Attention(dim)
        self.conv_out = nn.Conv2d(dim, 2, 3, padding=1)

    def forward(self, x):
        h = F.silu(self.conv_in(x))
        b, c, height, width = h.shape
        h = self.attn(h.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(b, c, height, width)
        return self.conv_out(h)


def inject_lora(unet):
    for module in list(unet.modules()):
        if isinstance(module, Attention):
            for name in ("to_q", "to_v"):
                setattr(module, name, LoRALinear(getattr(module, name)))
    return [p for n, p in unet.named_parameters() if ".up." in n or ".down." in n]


def run():
    torch.manual_seed(0)
    unet = UNet()
    lora_params = inject_lora(unet)  # also
    unet.requires_grad_(False)  # cause
    opt = torch.optim.AdamW(lora_params, lr=1e-4, weight_decay=1e-2)
    for step in range(2):
        latents = torch.randn(2, 2, 4, 4)
        noise = torch.randn_like(latents)
        loss = F.mse_loss(unet(0.7 * latents + 0.7 * noise), noise)
        loss.backward()  # symptom
        opt.step()
        opt.zero_grad()
        print(f"step {step} loss {loss.item():.4f}")
    return unet


TRUTH = Truth(
    fault="the adapters are frozen together with the base model",
    raises="element 0 of tensors does not require grad",
    names=("lora",),
    repair=("for p in set(unet.parameters()) - set(lora_params):\n    p.requires_grad_(False)",),
)
