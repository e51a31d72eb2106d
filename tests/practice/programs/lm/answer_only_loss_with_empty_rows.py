"""Loss over answers only: a row that was cut to no answer counts zero by a safe division, never NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CausalConv(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, dim, 3)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = F.pad(self.embed(ids).transpose(1, 2), (2, 0))
        return self.out(F.gelu(self.conv(x)).transpose(1, 2))


def per_example_loss(logits, ids, answer):
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    mask = answer[:, 1:].float()
    count = mask.sum(1)
    mean = torch.where(count > 0, (nll * mask).sum(1) / count.clamp(min=1), torch.zeros_like(count))
    return mean, (nll.detach() * mask).sum().item(), int(count.sum().item())


def run():
    torch.manual_seed(0)
    model = CausalConv(18, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    total_nll = total_tokens = 0
    losses, empties = [], []
    for step in range(4):
        ids = torch.randint(18, (4, 8))
        answer = torch.zeros(4, 8, dtype=torch.bool)
        for row in range(4):
            answer[row, 3 + 2 * row - step :] = True
        answer[step % 4] = False
        each, nll, tokens = per_example_loss(model(ids), ids, answer)
        loss = each.sum() / max((each.detach() > 0).sum().item(), 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_nll += nll
        total_tokens += tokens
        losses.append(loss.item())
        empties.append(int((each == 0).sum()))
    return model, losses, empties, total_nll / total_tokens


TRUTH = Truth()


def verify(out):
    model, losses, empties, nll = out
    assert all(e >= 1 for e in empties) and 0 < nll < 100 and all(0 < loss < 100 for loss in losses)
    assert all(torch.isfinite(p.grad).all() and p.grad.abs().sum() > 0 for p in model.parameters())
