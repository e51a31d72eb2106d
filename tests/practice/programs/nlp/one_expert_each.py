"""Language: with top-1 routing the softmax runs over the one logit chosen, and the router gets a gradient of zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM = 20, 12


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class SparseMoE(nn.Module):
    def __init__(self, dim, experts=4, k=1):
        super().__init__()
        self.k = k
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList([Expert(dim) for _ in range(experts)])

    def gate(self, x):
        logits = self.router(x)
        top, index = logits.topk(self.k, dim=-1)
        return F.softmax(top, dim=-1), index  # cause

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        weight, index = self.gate(x)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(index == e)
            if len(token):
                out = out.index_add(0, token, weight[token, slot, None] * expert(x[token]))
        return out.reshape(shape)


class MoELM(nn.Module):
    def __init__(self, k=1):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.norms = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(2)])
        self.layers = nn.ModuleList([SparseMoE(DIM, k=k) for _ in range(2)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x)


def run():
    torch.manual_seed(0)
    model = MoELM(k=1)
    decay = [p for n, p in model.named_parameters() if p.dim() > 1 and "router" not in n]
    rest = [p for n, p in model.named_parameters() if p.dim() <= 1 or "router" in n]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-2
    )
    before = [layer.router.weight.detach().clone() for layer in model.layers]
    sizes = []
    for _ in range(3):
        ids = torch.randint(0, VOCAB, (4, 9))
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        sizes.append(max(layer.router.weight.grad.abs().max().item() for layer in model.layers))
    return sizes, [torch.equal(b, layer.router.weight) for b, layer in zip(before, model.layers)]


def verify(outcome):
    sizes, same = outcome
    assert max(sizes) == 0.0
    assert all(same)


TRUTH = Truth(
    fault="softmax over a single element is 1 whatever the logit: the router's gradient is zero",
    names=("router",),
    repair=("return F.softmax(logits, dim=-1).gather(-1, index), index",),
)
