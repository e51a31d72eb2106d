"""Mixed precision: the norm is clipped before unscale_(), on gradients that are still 65536 times too large."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = (
            nn.Linear(dim, hidden, bias=False),
            nn.Linear(hidden, dim, bias=False),
            nn.Linear(dim, hidden, bias=False),
        )

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.d = heads, kv_heads, dim // heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = nn.Linear(dim, kv_heads * self.d, bias=False), nn.Linear(dim, kv_heads * self.d, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        B, T, _ = x.shape
        q = self.wq(x).view(B, T, self.heads, self.d).transpose(1, 2)
        k, v = (
            f(x).view(B, T, self.kv_heads, self.d).repeat_interleave(self.heads // self.kv_heads, 2).transpose(1, 2)
            for f in (self.wk, self.wv)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(B, T, -1))


class Llama(nn.Module):
    def __init__(self, vocab=32, dim=16, layers=2):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "attention_norm": RMSNorm(dim),
                    "attention": Attention(dim, 4, 2),
                    "ffn_norm": RMSNorm(dim),
                    "feed_forward": FeedForward(dim, 24),
                }
            )
            for _ in range(layers)
        )
        self.norm, self.output = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = h + layer["attention"](layer["attention_norm"](h))
            h = h + layer["feed_forward"](layer["ffn_norm"](h))
        return self.output(self.norm(h))


class Runner:
    def __init__(self, model, optimizer, grad_clip=1.0):
        self.model, self.optimizer, self.grad_clip = model, optimizer, grad_clip
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
        self.norms = []

    def finish_step(self):
        params = list(self.model.parameters())
        torch.nn.utils.clip_grad_norm_(params, self.grad_clip)  # cause
        self.scaler.unscale_(self.optimizer)  # cause
        self.norms.append(torch.stack([p.grad.norm() for p in params]).norm().item())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, micro_batches):
        for x, y in micro_batches:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = self.model(x)
            loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten()) / len(micro_batches)
            self.scaler.scale(loss).backward()
        self.finish_step()
        return loss.item()


def get_batch(data, n=4, block=8):
    ix = torch.randint(len(data) - block, (n,))
    return torch.stack([data[i : i + block] for i in ix]), torch.stack([data[i + 1 : i + 1 + block] for i in ix])


def run():
    torch.manual_seed(1337)
    data = torch.randint(0, 32, (200,))
    model = Llama()
    runner = Runner(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    for _ in range(3):
        runner.step([get_batch(data), get_batch(data)])
    return runner.norms


def verify(norms):
    assert max(norms) < 1e-3


TRUTH = Truth(
    fault="gradients are clipped while still scaled, after unscaling they are almost zero",
    names=("clip_grad_norm_", "unscale_"),
    repair=(
        "self.scaler.unscale_(self.optimizer)",
        "torch.nn.utils.clip_grad_norm_(params, self.grad_clip)",
    ),
)
