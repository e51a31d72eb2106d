"""LoRA that merges for evaluation: going back to training clears the flag and leaves the merged weight."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LoRAConv1D(nn.Module):
    """GPT-2 style projection (input x output) with a low-rank update."""

    def __init__(self, weight, bias, rank=2, alpha=4):
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        self.bias = nn.Parameter(bias.detach().clone(), requires_grad=False)
        self.lora_A = nn.Parameter(torch.randn(weight.size(0), rank) / math.sqrt(weight.size(0)))
        self.lora_B = nn.Parameter(torch.zeros(rank, weight.size(1)))
        self.scale, self.merged = alpha / rank, False

    def delta(self):
        return self.scale * (self.lora_A @ self.lora_B)

    def train(self, mode=True):
        super().train(mode)
        if mode:
            self.merged = False  # cause
        elif not self.merged:
            with torch.no_grad():
                self.weight += self.delta()  # also
            self.merged = True
        return self

    def forward(self, x):
        y = x @ self.weight + self.bias
        return y if self.merged else y + self.scale * (x @ self.lora_A @ self.lora_B)


class TinyGPT2(nn.Module):
    def __init__(self, vocab=28, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.ln_1, self.ln_f = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn = LoRAConv1D(torch.randn(dim, 3 * dim) * 0.2, torch.zeros(3 * dim))
        self.c_proj = LoRAConv1D(torch.randn(dim, dim) * 0.2, torch.zeros(dim))
        self.vocab = vocab

    def forward(self, ids):
        x = self.wte(ids)
        q, k, v = self.c_attn(self.ln_1(x)).unsqueeze(1).chunk(3, -1)
        x = x + self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1))
        return self.ln_f(x) @ self.wte.weight.t()


def freeze(model):
    for name, p in model.named_parameters():
        p.requires_grad_("lora_" in name)
    return [p for p in model.parameters() if p.requires_grad]


def loss_of(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def run():
    torch.manual_seed(0)
    model = TinyGPT2()
    optimizer = torch.optim.AdamW(freeze(model), lr=2e-2, weight_decay=0.0)
    pretrained = model.c_proj.weight.detach().clone()
    held_out = torch.randint(0, 28, (8, 9))
    validation = []
    for epoch in range(3):
        model.train()
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(model, torch.randint(0, 28, (8, 9))).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            validation.append(loss_of(model, held_out).item())
    model.train()
    return pretrained, model.c_proj.weight.detach(), validation


def verify(outcome):
    pretrained, weight, _ = outcome
    assert not torch.allclose(pretrained, weight, atol=1e-4)


TRUTH = Truth(
    fault="train() forgets to subtract the merged update: the frozen weight takes in the adapter again at each evaluation",
    names=("weight", "merged", "c_attn", "c_proj"),
    repair=("self.weight.data -= self.delta().detach() if self.merged else 0\nself.merged = False",),
)
