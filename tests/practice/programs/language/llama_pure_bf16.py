"""Language: the weights themselves were made bfloat16 to save memory, and the small steps are rounded away."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 2
    n_heads: int = 2
    vocab_size: int = 20
    norm_eps: float = 1e-5
    lr: float = 2e-5
    max_steps: int = 4


class RMSNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = torch.outer(torch.arange(end).float(), 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim))
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary(x, freqs):
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * freqs[: x.size(1), None]
    return torch.view_as_real(z).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.n, d = a.n_heads, a.dim
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, freqs):
        B, T, C = x.shape
        q, k, v = (w(x).view(B, T, self.n, -1) for w in (self.wq, self.wk, self.wv))
        q, k = apply_rotary(q, freqs), apply_rotary(k, freqs)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return self.wo(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C))


class TransformerBlock(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.attention, d = Attention(a), a.dim
        self.w1, self.w2, self.w3 = (
            nn.Linear(d, 2 * d, bias=False),
            nn.Linear(2 * d, d, bias=False),
            nn.Linear(d, 2 * d, bias=False),
        )
        self.attention_norm, self.ffn_norm = RMSNorm(d, a.norm_eps), RMSNorm(d, a.norm_eps)

    def forward(self, x, freqs):
        x = x + self.attention(self.attention_norm(x), freqs)
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Transformer(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.tok_embeddings = nn.Embedding(a.vocab_size, a.dim)
        self.layers = nn.ModuleList(TransformerBlock(a) for _ in range(a.n_layers))
        self.norm, self.output = RMSNorm(a.dim, a.norm_eps), nn.Linear(a.dim, a.vocab_size, bias=False)
        self.freqs_cis = precompute_freqs_cis(a.dim // a.n_heads, 16)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.freqs_cis)
        return self.output(self.norm(h)).float()


class Finetuner:
    def __init__(self, a):
        self.a = a
        self.model = Transformer(a)
        self.model = self.model.to(torch.bfloat16)  # cause
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=a.lr, betas=(0.9, 0.95), weight_decay=0.0)

    def step(self, tokens):
        logits = self.model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    a = ModelArgs()
    tuner = Finetuner(a)
    norms = [m.weight for m in tuner.model.modules() if isinstance(m, RMSNorm)]
    before = [w.detach().clone() for w in norms]
    for _ in range(a.max_steps):
        tuner.step((torch.randint(20, (6, 1)) + 3 * torch.arange(9)) % 20)
    return before, [w.detach() for w in norms], [w.grad.abs().max().item() for w in norms]


def verify(outcome):
    before, after, grads = outcome
    assert min(grads) > 0 and all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="at 1.0 bfloat16 has steps of 0.004-0.008: updates of 2e-5 vanish, the norms' weights never move",
    names=("norm", "bfloat16"),
    repair=("self.model = self.model.to(torch.float32)",),
)
