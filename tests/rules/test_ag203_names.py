"""AG203 in the program's own words: what is modified, by which line, and what forbids it."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


class Lion(torch.optim.Optimizer):
    """An optimizer of the user's own."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad.sign(), alpha=-group["lr"])


def test_optimizer_of_ones_own_without_no_grad():
    """Its step raises deep inside; the line there is named, and what it modifies."""

    def program(optimizer_class):
        layer = nn.Linear(3, 1)
        trained(optimizer_class(layer.parameters()), layer(X).sum())

    class Decorated(Lion):
        step = torch.no_grad()(Lion.step)

    finding = diagnosed(
        lambda: program(Lion), "AG203", "p.add_(p.grad.sign()", "Lion.step", "modify p ", severity="error", where=Lion
    )
    assert "@torch.no_grad()" in finding.fix
    calm(lambda: program(Decorated))


def test_names_in_the_programs_own_words():
    """What is modified is called as the failing line calls it, wherever the tensor came from."""

    def padding():
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(4, 2)
                self.embedding.weight[0].zero_()

        Model()

    def parametrised():
        layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
        layer.parametrizations.weight.original0.clamp_(max=1.0)

    def into():
        weight, result = nn.Parameter(torch.randn(4, 4)), torch.empty(4, 4)
        torch.matmul(weight, weight, out=result)

    diagnosed(padding, "AG203", "weight[0].zero_()", "modify self.embedding.weight[0]", severity="error")
    diagnosed(
        parametrised, "AG203", "original0.clamp_", "modify layer.parametrizations.weight.original0", severity="error"
    )
    diagnosed(into, "AG203", "out=result", "modify result", severity="error")


def test_view_of_a_chunk():
    """Rotary embeddings written into a slice of a chunk: the chunk is what forbids it."""

    def rotate(part):
        part[..., ::2] *= -1

    def sick():
        q, _ = nn.Linear(3, 4)(X).chunk(2, dim=-1)
        rotate(q)

    finding = diagnosed(sick, "AG203", "part[..., ::2] *= -1", "chunk", severity="error", where=rotate)
    assert "chunk" in finding.fix
    assert "part[..., ::2]" in finding.message
