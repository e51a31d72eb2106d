"""Language: the head and its loss are one custom Function that goes through the tokens in chunks."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the head's gradient is rebound in each chunk and not added: only the last chunk trains the head",
    names=("grad_weight", "head", "LinearCrossEntropy"),
    values=True,
    repair=("grad_weight += probs.T @ rows",),
)


class LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunks):
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for index in torch.arange(len(hidden)).chunk(chunks):
            rows, labels = hidden[index], targets[index]
            logits = rows @ weight.T
            total += F.cross_entropy(logits, labels, reduction="sum") / len(hidden)
            probs = logits.softmax(-1)
            probs[torch.arange(len(labels)), labels] -= 1
            probs /= len(hidden)
            grad_hidden[index] = probs @ weight
            grad_weight = probs.T @ rows  # cause
        ctx.save_for_backward(grad_hidden, grad_weight)
        return total

    @staticmethod
    def backward(ctx, grad):
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None, None


class Body(nn.Module):
    def __init__(self, vocab=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.up = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU())

    def forward(self, ids):
        h, _ = self.mix(self.embed(ids))
        return h + self.up(h)


def setup():
    torch.manual_seed(0)


def run():
    body, head = Body(), nn.Linear(16, 30, bias=False)
    body.up.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=3e-3)
    gaps = []
    for _ in range(4):
        ids = torch.randint(30, (4, 13))
        hidden = body(ids[:, :-1]).flatten(0, 1)
        targets = ids[:, 1:].flatten()
        exact = torch.autograd.grad(F.cross_entropy(head(hidden), targets), head.weight, retain_graph=True)[0]
        loss = LinearCrossEntropy.apply(hidden, head.weight, targets, 4)
        optimizer.zero_grad()
        loss.backward()
        gaps.append(((head.weight.grad - exact).norm() / exact.norm()).item())  # symptom
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 0.1
