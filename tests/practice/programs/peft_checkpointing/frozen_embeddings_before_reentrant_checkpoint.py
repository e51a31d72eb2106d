"""PEFT-like: reentrant checkpointing behind frozen embeddings: no input asks for a gradient, the LoRA weights inside get none."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class LoraLinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.normal_(self.lora_B.weight, std=0.02)
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x)) * self.scaling


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up_proj, self.down_proj = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down_proj(F.silu(self.up_proj(self.norm(x))))


class LlamaForClassification(nn.Module):
    def __init__(self, vocab=30, dim=16, layers=2, labels=3):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim) for _ in range(layers))
        self.score = nn.Linear(dim, labels)
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)  # also
            else:
                x = layer(x)
        return self.score(x.mean(1))


def get_peft_model(model):
    model.requires_grad_(False)
    for layer in model.layers:
        layer.up_proj, layer.down_proj = LoraLinear(layer.up_proj), LoraLinear(layer.down_proj)
    model.score.requires_grad_(True)  # modules_to_save
    return model


def run():
    torch.manual_seed(0)
    model = get_peft_model(LlamaForClassification())
    model.gradient_checkpointing_enable()  # cause
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trainable.values(), lr=1e-2, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in trainable.items()}
    model.train()
    for _ in range(3):
        loss = F.cross_entropy(model(torch.randint(0, 30, (4, 6))), torch.randint(0, 3, (4,)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in trainable.items()}


def verify(outcome):
    assert all(v == 0.0 for n, v in outcome.items() if "lora" in n)
    assert outcome["score.weight"] > 0.0


TRUTH = Truth(
    fault="reentrant checkpoint needs an input that requires grad; the embeddings are frozen, so all LoRA weights stay without gradient",
    names=("lora", "checkpoint"),
    repair=("model.gradient_checkpointing_enable()\nmodel.enable_input_require_grads()",),
)
