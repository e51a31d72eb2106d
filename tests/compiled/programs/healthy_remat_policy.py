"""Language: blocks with a custom gating op under a checkpoint whose policy keeps the products."""

import functools

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


@torch.library.custom_op("blocks::swiglu", mutates_args=())
def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return F.silu(gate) * up


@swiglu.register_fake
def _(gate, up):
    return torch.empty_like(gate)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def swiglu_backward(ctx, grad):
    gate, up = ctx.saved_tensors
    s = torch.sigmoid(gate)
    return grad * up * s * (1 + gate * (1 - s)), grad * gate * s


swiglu.register_autograd(swiglu_backward, setup_context=keep)


def policy(ctx, op, *args, **kwargs):
    products = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
    return CheckpointPolicy.MUST_SAVE if op in products else CheckpointPolicy.PREFER_RECOMPUTE


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.gate, self.up, self.down = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        h = self.norm(x)
        return x + F.dropout(self.down(swiglu(self.gate(h), self.up(h))), 0.1, self.training)


class LM(nn.Module):
    def __init__(self, vocab=11, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))

    def forward(self, ids):
        x = self.embed(ids)
        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        return F.linear(x, self.embed.weight)


def setup():
    torch.manual_seed(0)


def run():
    model = LM()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(3):
        ids = torch.randint(11, (4, 9))
        loss = F.cross_entropy(forward(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: p.grad.abs().max().item() for name, p in model.named_parameters()}


def verify(outcome):
    assert len(outcome) == 9 and min(outcome.values()) > 0
