"""Adaptation: prepare_for_kbit_training moved behind the injection and froze the fresh adapters too."""

from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class LoraArgs:
    r: int = 2
    alpha: int = 4
    dropout: float = 0.0
    target_modules: list = field(default_factory=lambda: ["q_proj", "v_proj"])
    modules_to_save: list = field(default_factory=lambda: ["score"])
    lr: float = 1e-2


class Linear8bit(nn.Module):
    """Weights held as int8 with one scale per row, as bitsandbytes would."""

    def __init__(self, fin, fout):
        super().__init__()
        w = torch.randn(fout, fin) * fin**-0.5
        scale = w.abs().amax(1, keepdim=True) / 127
        self.register_buffer("q", torch.round(w / scale).to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = nn.Parameter(torch.zeros(fout))

    def forward(self, x):
        return F.linear(x, self.q.float() * self.scale, self.bias)


class LoraLayer(nn.Module):
    def __init__(self, base, fin, fout, args):
        super().__init__()
        self.base, self.scaling = base, args.alpha / args.r
        self.lora_A, self.lora_B = nn.Linear(fin, args.r, bias=False), nn.Linear(args.r, fout, bias=False)
        self.dropout = nn.Dropout(args.dropout)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(self.dropout(x))) * self.scaling


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (Linear8bit(d, d) for _ in range(4))
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        h = self.norm(x)
        a = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h))
        return x + self.o_proj(a)


class SequenceClassifier(nn.Module):
    def __init__(self, vocab=20, d=12, n_layers=2, labels=3):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(n_layers))
        self.score = nn.Linear(d, labels)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.score(x.mean(1))


def prepare_model_for_kbit_training(model):
    for param in model.parameters():
        param.requires_grad = False
    for param in model.parameters():
        if param.dtype in (torch.float16, torch.bfloat16):
            param.data = param.data.to(torch.float32)

    def make_inputs_require_grad(module, inputs, output):
        output.requires_grad_(True)

    model.embed_tokens.register_forward_hook(make_inputs_require_grad)
    return model


def get_peft_model(model, args):
    for layer in model.layers:
        for name in args.target_modules:
            base = getattr(layer, name)
            fout, fin = base.q.shape
            setattr(layer, name, LoraLayer(base, fin, fout, args))
    return model


def unfreeze_modules_to_save(model, args):
    for name, module in model.named_children():
        if name in args.modules_to_save:
            module.requires_grad_(True)


def load(args):
    model = SequenceClassifier()
    model = get_peft_model(model, args)
    model = prepare_model_for_kbit_training(model)  # cause
    unfreeze_modules_to_save(model, args)
    return model


def run():
    torch.manual_seed(0)
    args = LoraArgs()
    model = load(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        ids = torch.randint(20, (8, 6))
        loss = F.cross_entropy(model(ids), ids.sum(1) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}


def verify(moved):
    assert moved == {"score.weight", "score.bias"}


TRUTH = Truth(
    fault="prepare_model_for_kbit_training after the injection freezes the LoRA weights: only the head trains",
    names=("lora_A", "lora_B"),
    repair=(
        "for name, p in prepare_model_for_kbit_training(model).named_parameters():\n    p.requires_grad_('lora_' in name)",
    ),
)
