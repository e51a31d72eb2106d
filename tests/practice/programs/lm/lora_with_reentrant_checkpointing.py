"""LoRA with reentrant checkpointing: the frozen embeddings need no gradient, so the blocks record none."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (s.view(b, t, self.heads, -1).transpose(1, 2) for s in self.qkv(self.ln1(x)).chunk(3, -1))
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab=40, dim=16, depth=2, ctx=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(ctx, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        self.gradient_checkpointing = False

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.blocks:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=True)  # cause
            else:
                x = block(x)
        return self.lm_head(self.ln_f(x))


def run():
    torch.manual_seed(0)
    base = GPT()
    base.gradient_checkpointing = True
    model = get_peft_model(base, LoraConfig(r=2, lora_alpha=4, target_modules=["qkv"]))
    model.train()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=2e-4)
    for step in range(2):
        ids = torch.randint(0, 40, (2, 9))
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(trainable, 1.0)
        opt.step()
        opt.zero_grad()
        print(f"step {step} loss {loss.item():.3f} trainable {sum(p.numel() for p in trainable)}")
    return model


TRUTH = Truth(
    fault="reentrant checkpoints of an input that asks for no gradient",
    raises="element 0 of tensors does not require grad",
    names=("checkpoint",),
    repair=("x = checkpoint(block, x, use_reentrant=False)",),
)
