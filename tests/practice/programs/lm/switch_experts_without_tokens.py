"""A switch layer: an expert without a token is skipped in that step, and the choice learns by the gate's probability."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SwitchFFN(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )
        self.counts = None

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probs = self.router(x).softmax(-1)
        gate, choice = probs.max(-1)
        out = torch.zeros_like(x)
        self.counts = torch.bincount(choice, minlength=len(self.experts))
        for i, expert in enumerate(self.experts):
            rows = (choice == i).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            out[rows] = expert(x[rows])
        density = F.one_hot(choice, len(self.experts)).float().mean(0)
        self.aux = len(self.experts) * (density * probs.mean(0)).sum()
        return (out * gate[:, None]).view(shape)


class MoELM(nn.Module):
    def __init__(self, vocab=16, dim=8, experts=8):
        super().__init__()
        self.embed, self.norm = nn.Embedding(vocab, dim), nn.LayerNorm(dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.ffn, self.head = SwitchFFN(dim, experts), nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.mix(self.embed(ids))[0]
        return self.head(x + self.ffn(self.norm(x)))


def run():
    torch.manual_seed(0)
    model = MoELM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    idle, losses = [], []
    for _ in range(3):
        ids = torch.randint(16, (1, 6))
        logits = model(ids)
        loss = F.cross_entropy(logits[0, :-1], ids[0, 1:]) + 0.01 * model.ffn.aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        without = [i for i, e in enumerate(model.ffn.experts) if e[0].weight.grad is None]
        idle.append((without, (model.ffn.counts == 0).nonzero().flatten().tolist()))
        losses.append(loss.item())
    return model, idle, losses


TRUTH = Truth()


def verify(out):
    model, idle, losses = out
    assert all(a == b and len(a) > 0 for a, b in idle)
    assert model.ffn.router.weight.grad.abs().sum() > 0 and all(0 < loss < 100 for loss in losses)
