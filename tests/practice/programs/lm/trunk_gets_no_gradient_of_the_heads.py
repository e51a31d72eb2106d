"""Multi-token prediction head by head to save memory: what gathers at the cut is never sent into the trunk."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MultiTokenLM(nn.Module):
    def __init__(self, vocab=12, dim=8, ahead=3):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.trunk = nn.GRU(dim, dim, batch_first=True)
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, vocab)) for _ in range(ahead)
        )

    def backward(self, ids):
        n = len(self.heads)
        z = self.trunk(self.wte(ids[:, :-n]))[0]
        d = z.detach().requires_grad_()  # also
        total = 0.0
        for i, head in enumerate(self.heads):
            logits = head(d)
            target = ids[:, i + 1 : i + 1 + d.size(1)]
            loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
            loss.backward()
            total += loss.item()
        return total  # cause


def run():
    torch.manual_seed(0)
    model = MultiTokenLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        opt.zero_grad()
        losses.append(model.backward(torch.randint(12, (4, 10))))
        opt.step()
    return model, losses


def verify(out):
    assert out[0].trunk.weight_hh_l0.grad is None


TRUTH = Truth(
    fault="the gradient at the cut never goes back into the trunk",
    names=("trunk",),
    repair=("z.backward(d.grad)\nreturn total",),
)
