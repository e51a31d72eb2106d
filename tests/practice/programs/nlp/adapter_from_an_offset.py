"""Language: an adapter reads where it starts from a field that is gone when checkpointing runs the block again."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth

VOCAB, DIM, LAYERS = 20, 16, 2


class OffsetLoRA(nn.Module):
    """A low-rank update that acts only on the tokens after the invocation."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)
        self.offsets = None

    def forward(self, x):
        y = self.base(x)
        delta = x @ self.lora_a.t() @ self.lora_b.t()
        if self.offsets is None:
            return y + 0.0 * delta
        position = torch.arange(x.shape[1])[None, :, None]
        return y + delta * (position >= self.offsets[:, None, None])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.proj = OffsetLoRA(nn.Linear(DIM, DIM))

    def forward(self, x):
        return x + F.gelu(self.proj(self.norm(x)))


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)  # also
        return self.head(x)


@contextlib.contextmanager
def adapter_offsets(model, offsets):
    adapters = [m for m in model.modules() if isinstance(m, OffsetLoRA)]
    for a in adapters:
        a.offsets = offsets
    try:
        yield
    finally:
        for a in adapters:
            a.offsets = None  # also


def training_loss(model, ids, offsets):
    with adapter_offsets(model, offsets):
        logits = model(ids)  # also
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def run():
    torch.manual_seed(0)
    model = TinyLM()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    ids = torch.randint(0, VOCAB, (4, 9))
    offsets = torch.tensor([2, 3, 4, 5])
    norms = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = training_loss(model, ids, offsets)
        loss.backward()  # cause
        norms.append([b.proj.lora_b.grad.abs().max().item() for b in model.blocks])
        optimizer.step()
    return norms, model.embed.weight.grad.abs().max().item()


def verify(outcome):
    norms, embed = outcome
    assert embed > 0
    assert all(n == 0.0 for step in norms for n in step)


TRUTH = Truth(
    fault="backward runs after the offsets were cleared: the recomputed blocks ignore the adapter and its gradient is zero",
    names=("lora_b", "offsets"),
    repair=("with adapter_offsets(model, offsets):\n    loss.backward()",),
)
