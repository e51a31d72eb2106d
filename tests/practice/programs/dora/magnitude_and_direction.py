"""DoRA: the norm is a constant of the backward pass, as the paper has it; nothing is wrong."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DoRALinear(nn.Module):
    """A frozen linear layer, a low-rank change of its direction, a learned magnitude."""

    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r
        self.magnitude = nn.Parameter(base.weight.data.norm(dim=1).clone())

    def forward(self, x):
        delta = (self.lora_B @ self.lora_A) * self.scaling
        # section 4.3 of the paper: the norm gets no gradient
        weight_norm = (self.base.weight + delta).detach().norm(dim=1)
        scale = self.magnitude / weight_norm
        out = F.linear(x, self.base.weight) + F.linear(x, delta)
        return out * scale + self.base.bias

    @torch.no_grad()
    def merged_weight(self):
        weight = self.base.weight + (self.lora_B @ self.lora_A) * self.scaling
        return weight * (self.magnitude / weight.norm(dim=1)).unsqueeze(1)


class Classifier(nn.Module):
    def __init__(self, vocab=32, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.q_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids)
        q = self.q_proj(x)
        att = (q @ x.transpose(1, 2) / 4).softmax(-1)
        return self.score((att @ self.v_proj(x)).mean(1))


def inject(model):
    model.requires_grad_(False)
    model.q_proj = DoRALinear(model.q_proj)
    model.v_proj = DoRALinear(model.v_proj)
    model.score.requires_grad_(True)
    return model


def run():
    torch.manual_seed(0)
    model = inject(Classifier())
    frozen = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
    start = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2, weight_decay=0.0)
    for _ in range(4):
        ids, labels = torch.randint(0, 32, (8, 5)), torch.randint(0, 3, (8,))
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    x = torch.randn(2, 16)
    merged = F.linear(x, model.v_proj.merged_weight(), model.v_proj.base.bias)
    now = dict(model.named_parameters())
    return (
        [n for n in start if torch.equal(start[n], now[n])],
        [n for n in frozen if not torch.equal(frozen[n], now[n])],
        torch.allclose(merged, model.v_proj(x), atol=1e-5),
    )


def verify(outcome):
    still, moved, same = outcome
    assert not still and not moved and same, outcome


TRUTH = Truth()
