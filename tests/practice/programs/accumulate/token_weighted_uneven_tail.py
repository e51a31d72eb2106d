"""Gradient accumulation over ragged micro-batches: sums are accumulated and .grad is divided by the token count at the end."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

ACC = 3


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8, padding_idx=0)
        self.rnn = nn.LSTM(8, 8, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 4)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def loader():
    g = torch.Generator().manual_seed(2)
    for size, length in [(4, 5), (2, 3), (3, 7), (1, 2), (4, 6), (2, 4), (3, 3)]:  # seven: the tail group has one
        ids = torch.randint(1, 12, (size, length), generator=g)
        tags = torch.randint(4, (size, length), generator=g)
        tags[:, -1] = -100
        yield ids, tags


def update(model, opt, tokens):
    with torch.no_grad():
        torch._foreach_div_([p.grad for p in model.parameters()], float(tokens))
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()


def build():
    torch.manual_seed(0)
    model = Tagger()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    model, opt = build()
    start = [p.detach().clone() for p in model.parameters()]
    tokens = pending = 0
    for ids, tags in loader():
        F.cross_entropy(model(ids).flatten(0, 1), tags.flatten(), reduction="sum", ignore_index=-100).backward()
        tokens += int((tags != -100).sum())
        pending += 1
        if pending == ACC:
            update(model, opt, tokens)
            tokens = pending = 0
    if pending:
        update(model, opt, tokens)
    return model, start


def verify(outcome):
    model, start = outcome
    plain, opt = build()
    batches = list(loader())
    for at in range(0, len(batches), ACC):
        logits, tags = [], []
        for ids, t in batches[at : at + ACC]:
            logits.append(plain(ids).flatten(0, 1))
            tags.append(t.flatten())
        opt.zero_grad()
        F.cross_entropy(torch.cat(logits), torch.cat(tags)).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        opt.step()
    for a, b, s in zip(model.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=2e-5) and not torch.equal(a, s)


TRUTH = Truth()
