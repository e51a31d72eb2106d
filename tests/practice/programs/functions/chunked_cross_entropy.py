"""A fused loss by hand: forward makes the gradients chunk by chunk, backward scales and returns them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk):
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for rows in torch.arange(len(hidden)).split(chunk):
            logits = hidden[rows] @ weight.T
            total += F.cross_entropy(logits, targets[rows], reduction="sum", ignore_index=-100)
            g = logits.softmax(-1)
            wanted = targets[rows] != -100
            g[torch.arange(len(rows))[wanted], targets[rows][wanted]] -= 1
            g *= wanted[:, None]
            grad_hidden[rows] = g @ weight
            grad_weight += g.T @ hidden[rows]
        count = (targets != -100).sum()
        ctx.save_for_backward(grad_hidden / count, grad_weight / count)
        return total / count

    @staticmethod
    def backward(ctx, grad):
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None, None


def run():
    torch.manual_seed(0)
    wte, rnn, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 12, bias=False)
    params = [p for m in (wte, rnn, head) for p in m.parameters()]
    opt = torch.optim.AdamW(params, lr=1e-2)
    for _ in range(3):
        ids = torch.randint(12, (3, 9))
        labels = ids[:, 1:].clone()
        labels[:, :2] = -100
        hidden = rnn(wte(ids[:, :-1]))[0].flatten(0, 1)
        loss = ChunkedLoss.apply(hidden, head.weight, labels.flatten(), 5)
        wanted = torch.autograd.grad(F.cross_entropy(head(hidden), labels.flatten()), params, retain_graph=True)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [p.grad for p in params], wanted


def verify(out):
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*out, strict=True))


TRUTH = Truth()
