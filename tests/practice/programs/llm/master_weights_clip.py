"""bf16 training with fp32 master weights: clipping comes after the gradients were copied to the masters."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MasterWeightOptimizer:
    """Keeps a float copy of each bf16 parameter, steps on the copies and writes them back."""

    def __init__(self, model, lr, max_norm):
        self.model_params = [p for p in model.parameters() if p.requires_grad]
        self.master = [p.detach().clone().float().requires_grad_() for p in self.model_params]
        self.inner = torch.optim.SGD(self.master, lr=lr)
        self.max_norm = max_norm

    def zero_grad(self):
        for p in self.model_params:
            p.grad = None
        self.inner.zero_grad(set_to_none=True)

    def step(self):
        for p, m in zip(self.model_params, self.master):
            m.grad = None if p.grad is None else p.grad.float()
        norm = nn.utils.clip_grad_norm_(self.model_params, self.max_norm)  # cause
        self.inner.step()
        with torch.no_grad():
            for p, m in zip(self.model_params, self.master):
                p.copy_(m)
        return norm.item()


class DecoderLM(nn.Module):
    def __init__(self, vocab=48, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attn_norm, self.mlp_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(2 * dim, dim, bias=False)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        q, k, v = self.qkv(self.attn_norm(x)).unsqueeze(1).chunk(3, -1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1))
        a, b = self.gate(self.mlp_norm(x)).chunk(2, -1)
        return self.head(x + self.down(F.silu(a) * b))


def lm_loss(model, ids, z_weight=1e-3):
    logits = model(ids[:, :-1]).float()
    ce = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    return ce + z_weight * logits.logsumexp(-1).square().mean()


def run():
    torch.manual_seed(0)
    lr, max_norm, micro = 0.1, 0.1, 2
    model = DecoderLM().to(torch.bfloat16)
    optimizer = MasterWeightOptimizer(model, lr, max_norm)
    moved = []
    for _ in range(3):
        before = [m.detach().clone() for m in optimizer.master]
        optimizer.zero_grad()
        for _ in range(micro):
            (lm_loss(model, torch.randint(0, 48, (4, 13))) / micro).backward()
        norm = optimizer.step()
        shift = torch.stack([(m.detach() - b).norm() for m, b in zip(optimizer.master, before)]).norm().item()
        moved.append((norm, shift / lr))
    return max_norm, moved


def verify(outcome):
    max_norm, moved = outcome
    # the steps are as long as the gradients before clipping
    assert all(step > 2 * max_norm and abs(step / norm - 1) < 0.05 for norm, step in moved)


TRUTH = Truth(
    fault="the bf16 gradients are clipped after their float copies were made: the masters step unclipped",
    names=("clip_grad_norm_", "master"),
    repair=("norm = nn.utils.clip_grad_norm_(self.master, self.max_norm)",),
)
