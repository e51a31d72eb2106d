"""Low-memory fine-tuning: every parameter has its own AdamW, stepped inside backward, and its gradient is freed at once."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def build():
    torch.manual_seed(3)
    return nn.Sequential(Block(8), Block(8), nn.Linear(8, 4))


def attach(model, lr):
    optimizers = {p: torch.optim.AdamW([p], lr=lr, weight_decay=0.1) for p in model.parameters()}

    def step_and_free(param):
        optimizers[param].step()
        param.grad = None

    handles = [p.register_post_accumulate_grad_hook(step_and_free) for p in model.parameters()]
    return optimizers, handles


def batches():
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        yield torch.randn(6, 8, generator=generator), torch.randint(4, (6,), generator=generator)


def run():
    model = build()
    optimizers, handles = attach(model, 1e-2)
    for x, y in batches():
        F.cross_entropy(model(x), y).backward()
    for handle in handles:
        handle.remove()
    steps = {int(o.state[p]["step"]) for p, o in optimizers.items()}
    return [p.detach().clone() for p in model.parameters()], steps, all(p.grad is None for p in model.parameters())


def verify(outcome):
    got, steps, freed = outcome
    model = build()
    start = [p.detach().clone() for p in model.parameters()]
    plain = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    for x, y in batches():
        plain.zero_grad()
        F.cross_entropy(model(x), y).backward()
        plain.step()
    assert steps == {4} and freed
    for a, b, s in zip(got, model.parameters(), start):
        assert torch.allclose(a, b, atol=1e-6) and not torch.equal(a, s)


TRUTH = Truth()
