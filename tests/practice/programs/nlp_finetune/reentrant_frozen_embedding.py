"""Fine-tuning: with frozen embeddings a reentrant checkpoint sees no input that needs a gradient, and the adapters inside it get none."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth

warnings.filterwarnings("ignore")


class LoRA(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + x @ self.lora_A.t() @ self.lora_B.t() * self.scaling


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.input_layernorm, self.post_layernorm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.up_proj, self.down_proj = nn.Linear(dim, 2 * dim, bias=False), nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x):
        h = self.input_layernorm(x)
        q, k, v = (
            f(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj)
        )
        x = x + self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down_proj(F.silu(self.up_proj(self.post_layernorm(x))))


class CausalLM(nn.Module):
    def __init__(self, vocab=32, dim=16, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, 2) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def enable_input_require_grads(self):
        self._require_grads_hook = self.embed_tokens.register_forward_hook(
            lambda module, args, output: output.requires_grad_(True)
        )

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)  # also
            else:
                x = layer(x)
        return self.lm_head(self.norm(x))


def prepare_for_lora(model, targets=("q_proj", "v_proj"), train_head=True):
    model.requires_grad_(False)
    for layer in model.layers:
        for name in targets:
            setattr(layer, name, LoRA(getattr(layer, name)))
    model.lm_head.requires_grad_(train_head)
    model.gradient_checkpointing_enable()  # cause
    return model


def evaluate(model, ids):
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    model.train()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = prepare_for_lora(CausalLM())
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trainable.values(), lr=1e-2, weight_decay=0.0)
    before = {n: p.detach().clone() for n, p in trainable.items()}
    model.train()
    for _ in range(3):
        ids = torch.randint(0, 32, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        evaluate(model, ids)
    return [n for n, p in trainable.items() if not torch.equal(p, before[n])]


def verify(moved):
    assert moved == ["lm_head.weight"]


TRUTH = Truth(
    fault="reentrant checkpoints of inputs without gradient cut the graph: the LoRA weights get no gradient",
    names=("lora_", "checkpoint"),
    repair=("model.gradient_checkpointing_enable()\nmodel.enable_input_require_grads()",),
)
