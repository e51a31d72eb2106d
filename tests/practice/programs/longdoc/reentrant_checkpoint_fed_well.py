"""Long documents: re-entrant checkpointing behind a frozen embedding whose output is made to require grad by a hook. Healthy."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, h):
        z = self.norm(h)
        past = z.cumsum(1) / torch.arange(1, z.size(1) + 1)[:, None]
        return h + self.drop(F.gelu(self.mix(past)))


class DocumentModel(nn.Module):
    def __init__(self, vocab=30, dim=12, depth=3, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))
        self.out = nn.Linear(dim, classes)
        self.save_memory = False

    def enable_input_require_grads(self):
        return self.embed.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=True) if self.save_memory and self.training else layer(h)
        return self.out(h.mean(1))


def documents(n):
    ids = torch.randint(30, (n, 16))
    return ids, ids[:, 0] % 3


def gradients(model, ids, label):
    model.zero_grad()
    torch.manual_seed(5)
    F.cross_entropy(model(ids), label).backward()
    return [p.grad.clone() for p in model.parameters() if p.requires_grad]


def run():
    torch.manual_seed(0)
    model = DocumentModel()
    model.embed.requires_grad_(False)
    ids, label = documents(16)
    plain = gradients(model, ids, label)
    model.enable_input_require_grads()
    model.save_memory = True
    saved = gradients(model, ids, label)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    start = [p.detach().clone() for p in trainable]
    table = model.embed.weight.clone()
    for _ in range(3):
        loss = F.cross_entropy(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return plain, saved, start, trainable, torch.equal(table, model.embed.weight)


def verify(outcome):
    plain, saved, start, now, frozen = outcome
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(plain, saved))
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert frozen


TRUTH = Truth()
