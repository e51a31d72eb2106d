"""A large model is laid out on the meta device; the optimizer is made before its weights are given memory."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GatedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim, bias=False)
        self.gate, self.proj = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = self.qkv(h).chunk(3, -1)
        return x + self.proj(F.scaled_dot_product_attention(q, k, v) * self.gate(h).sigmoid())


class ProteinEncoder(nn.Module):
    def __init__(self, residues=21, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(residues, dim)
        self.layers = nn.ModuleList(GatedAttention(dim) for _ in range(depth))
        self.head = nn.Linear(dim, residues)

    def forward(self, seq):
        x = self.embed(seq)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    @torch.no_grad()
    def init_weights(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=1 / math.sqrt(module.in_features))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.5)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()


def configure_optimizer(model, lr):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.98))


def initialize(lr, device):
    with torch.device("meta"):
        model = ProteinEncoder()
    optimizer = configure_optimizer(model, lr)  # also
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    model.to_empty(device=device)  # cause
    model.init_weights()
    return model, optimizer, scheduler


def run():
    torch.manual_seed(0)
    model, optimizer, scheduler = initialize(lr=5e-3, device="cpu")
    start = [p.detach().clone() for p in model.parameters()]
    model.train()
    for _ in range(4):
        seq = torch.randint(0, 20, (4, 12))
        masked = torch.rand(seq.shape) < 0.25
        logits = model(seq.masked_fill(masked, 20))
        loss = F.cross_entropy(logits[masked], seq[masked])
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return [torch.equal(p, s) for p, s in zip(model.parameters(), start)]


def verify(same):
    assert all(same)


TRUTH = Truth(
    fault="to_empty() gives the model new parameters; the optimizer has those on the meta device",
    names=("to_empty", "optimizer"),
    repair=("model.to_empty(device=device)\noptimizer = configure_optimizer(model, lr)",),
)
