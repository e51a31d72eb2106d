"""GPT pre-training with tied embeddings: the tie is made of storage only, two parameters step on one memory."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab=40, dim=16, heads=2, depth=2, context=16):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(context, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.apply(self._init_weights)
        self.tie_weights()

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def tie_weights(self):
        self.lm_head.weight.data = self.wte.weight.data  # cause

    def forward(self, ids, targets):
        pos = torch.arange(ids.size(1))
        x = self.wte(ids) + self.wpe(pos)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def configure_optimizer(model, lr=1e-3, weight_decay=0.1):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    no_decay = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def run():
    torch.manual_seed(0)
    model = GPT()
    optimizer = configure_optimizer(model)
    start = model.wte.weight.detach().clone()
    for _ in range(3):
        ids = torch.randint(0, 40, (4, 13))
        loss = model(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    moved = (model.wte.weight.detach() - start).abs().max().item()
    return model.lm_head.weight, model.wte.weight, moved


def verify(outcome):
    head, embedding, moved = outcome
    assert head is not embedding and head.data_ptr() == embedding.data_ptr()
    assert not torch.equal(head.grad, embedding.grad)
    # Adam moves a weight by lr at most in such steps; here two of them move the same memory
    assert moved > 3.5e-3


TRUTH = Truth(
    fault="lm_head.weight shares only the storage of wte.weight: two parameters with their own gradient and Adam state",
    names=("lm_head.weight", "wte.weight"),
    repair=("self.lm_head.weight = self.wte.weight",),
)
