"""Loss scaling with clipping: the scaled gradients are clipped, and unscaling makes them vanishingly small."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = (
            nn.Linear(a, b, bias=False) for a, b in ((dim, hidden), (hidden, dim), (dim, hidden))
        )

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Llamaish(nn.Module):
    def __init__(self, vocab=40, dim=16, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.norms = nn.ModuleList(nn.RMSNorm(dim) for _ in range(2 * depth + 1))
        self.attn = nn.ModuleList(nn.Linear(dim, 3 * dim, bias=False) for _ in range(depth))
        self.ffn = nn.ModuleList(SwiGLU(dim, 2 * dim) for _ in range(depth))
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.tok(ids)
        for i, (attn, ffn) in enumerate(zip(self.attn, self.ffn)):
            q, k, v = attn(self.norms[2 * i](x)).unsqueeze(1).chunk(3, -1)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1)
            x = x + ffn(self.norms[2 * i + 1](x))
        return self.output(self.norms[-1](x))


class Trainer:
    def __init__(self, model, lr=0.5, clip=1.0, micro_batches=2):
        self.model, self.clip, self.micro_batches, self.lr = model, clip, micro_batches, lr
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
        self.shifts, self.norms = [], []

    def loss(self, ids):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(ids[:, :-1])
        logits = logits.float()
        ce = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        return ce + 1e-4 * logits.logsumexp(-1).square().mean()

    def step(self, batches):
        before = [p.detach().clone() for p in self.model.parameters()]
        self.optimizer.zero_grad(set_to_none=True)
        for ids in batches:
            self.scaler.scale(self.loss(ids) / self.micro_batches).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)  # cause
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.norms.append(norm.item())
        moved = [(p.detach() - b).norm() for p, b in zip(self.model.parameters(), before)]
        self.shifts.append(torch.stack(moved).norm().item())


def documents(n=4, length=13):
    start = torch.randint(0, 40, (n, 1))
    return (start + 3 * torch.arange(length)) % 40


def run():
    torch.manual_seed(0)
    trainer = Trainer(Llamaish())
    for _ in range(3):
        trainer.step([documents() for _ in range(2)])
    return trainer.norms, trainer.shifts


def verify(outcome):
    norms, shifts = outcome
    assert min(norms) > 100 and max(shifts) < 1e-3


TRUTH = Truth(
    fault="clip_grad_norm_ before scaler.unscale_: gradients of norm 1 are then divided by the loss scale",
    names=("clip_grad_norm_", "unscale_", "scaler"),
    repair=(
        "self.scaler.unscale_(self.optimizer)\nnorm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)",
    ),
)
