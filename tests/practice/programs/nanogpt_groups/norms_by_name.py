"""nanoGPT: a refactoring sorts the parameters without decay by name, and the LayerNorm gains land in no group."""

import inspect
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd, bias=False), nn.LayerNorm(n_embd, bias=False)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size=32, n_embd=16, n_head=2, n_layer=2, block_size=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd, bias=False)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for pn, p in self.named_parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * n_layer) if pn.endswith("c_proj.weight") else 1))

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    def configure_optimizers(self, weight_decay, learning_rate, betas):
        param_dict = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay_params = [p for n, p in param_dict.items() if p.dim() >= 2]
        nodecay_params = [p for n, p in param_dict.items() if n.endswith(".bias")]  # cause
        optim_groups = [
            {"params": decay_params, "weight_decay": weight_decay},
            {"params": nodecay_params, "weight_decay": 0.0},
        ]
        extra = {"foreach": False} if "foreach" in inspect.signature(torch.optim.AdamW).parameters else {}
        return torch.optim.AdamW(optim_groups, lr=learning_rate, betas=betas, **extra)


def run():
    torch.manual_seed(1337)
    model = GPT()
    optimizer = model.configure_optimizers(1e-1, 1e-2, (0.9, 0.95))
    data = torch.randint(0, 32, (400,))
    for _ in range(4):
        ix = torch.randint(len(data) - 13, (4,))
        x, y = torch.stack([data[i : i + 12] for i in ix]), torch.stack([data[i + 1 : i + 13] for i in ix])
        loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return [m.weight.detach() for m in model.modules() if isinstance(m, nn.LayerNorm)]


def verify(gains):
    assert len(gains) == 5 and all(torch.equal(g, torch.ones_like(g)) for g in gains)


TRUTH = Truth(
    fault="the LayerNorm weights are neither matrices nor biases: no group of the optimizer has them",
    names=("ln_",),
    repair=("nodecay_params = [p for n, p in param_dict.items() if p.dim() < 2]",),
)
