"""Sequences are packed into rows with a block-wise causal mask; prompts and the ends of documents are ignored."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PackedLM(nn.Module):
    def __init__(self, vocab=12, dim=8, longest=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(longest, dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids, positions, documents):
        h = self.wte(ids) + self.wpe(positions)
        q, k, v = self.qkv(h).chunk(3, -1)
        allowed = (documents[:, :, None] == documents[:, None]).tril()
        scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1)
        return self.head(h + self.proj(weights @ v))


def pack(lengths, vocab=12, prompt=2):
    ids, labels, positions, documents = [], [], [], []
    for number, n in enumerate(lengths):
        text = torch.randint(vocab, (n,))
        target = torch.cat([text[1:], torch.tensor([-100])])
        target[: prompt - 1] = -100
        ids.append(text)
        labels.append(target)
        positions.append(torch.arange(n))
        documents.append(torch.full((n,), number))
    return [torch.cat(part)[None] for part in (ids, labels, positions, documents)]


def run():
    torch.manual_seed(0)
    model = PackedLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        ids, labels, positions, documents = pack([5, 4, 7])
        logits = model(ids, positions, documents)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
        loss = loss / (labels != -100).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert all(0 < value < 20 for value in losses)


TRUTH = Truth()
