"""lit-gpt: the update of the fused QKV projection is spread over its rows by a call whose result is dropped."""

import torch
import torch.nn as nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoRAQKVLinear(nn.Module):
    def __init__(self, n_embd, r=2, lora_alpha=4, enable_lora=(True, False, True)):
        super().__init__()
        self.linear = nn.Linear(n_embd, 3 * n_embd)
        self.enable_lora, self.scaling = enable_lora, lora_alpha / r
        parts = sum(enable_lora)
        self.lora_A = nn.Parameter(torch.randn(r * parts, n_embd) * 0.1)
        self.lora_B = nn.Parameter(torch.randn(n_embd * parts, r) * 0.1)
        rows = torch.arange(3 * n_embd).view(3, n_embd)
        self.register_buffer("lora_ind", rows[list(enable_lora)].flatten(), persistent=False)
        self.parts = parts

    def zero_pad(self, x):
        """Put the columns of the adapted parts where they belong, and zeros elsewhere."""
        result = x.new_zeros(*x.shape[:-1], self.linear.out_features)
        result.index_copy(-1, self.lora_ind, x)  # cause
        return result

    def forward(self, x):
        pretrained = self.linear(x)
        after_A = F.linear(x, self.lora_A)
        after_B = F.conv1d(after_A.transpose(-2, -1), self.lora_B.unsqueeze(-1), groups=self.parts)
        return pretrained + self.zero_pad(after_B.transpose(-2, -1) * self.scaling)


class Block(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.norm_1, self.norm_2 = nn.RMSNorm(n_embd), nn.RMSNorm(n_embd)
        self.attn, self.proj = LoRAQKVLinear(n_embd), nn.Linear(n_embd, n_embd)
        self.fc = nn.Sequential(nn.Linear(n_embd, 2 * n_embd), nn.SiLU(), nn.Linear(2 * n_embd, n_embd))

    def forward(self, x):
        q, k, v = self.attn(self.norm_1(x)).chunk(3, dim=-1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.fc(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, vocab=30, n_embd=16, n_layer=2):
        super().__init__()
        self.wte, self.h = nn.Embedding(vocab, n_embd), nn.ModuleList(Block(n_embd) for _ in range(n_layer))
        self.ln_f, self.lm_head = nn.RMSNorm(n_embd), nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx):
        x = self.wte(idx)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        p.requires_grad = "lora_" in n or n.startswith("lm_head")


def run():
    torch.manual_seed(0)
    model = GPT()
    mark_only_lora_as_trainable(model)
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trainable.values(), lr=1e-2, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in trainable.items()}
    for _ in range(3):
        ids = torch.randint(0, 30, (4, 10))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {n: not torch.equal(start[n], p) for n, p in trainable.items()}


def verify(moved):
    assert [n for n, m in moved.items() if m] == ["lm_head.weight"], moved


TRUTH = Truth(
    fault="index_copy returns a new tensor, which is dropped: the low-rank update is zero and gets no gradient",
    names=("index_copy",),
    repair=("result = result.index_copy(-1, self.lora_ind, x)",),
)
