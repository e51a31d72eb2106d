"""Healthy: character model with truncated BPTT; the hidden state is detached once per chunk, and the cell is hand-written."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

text = "the quick brown fox jumps over the lazy dog and runs away " * 4
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}


class MinimalGRU(nn.Module):
    def __init__(self, n_vocab, n_hidden):
        super().__init__()
        self.n_hidden = n_hidden
        self.embed = nn.Embedding(n_vocab, n_hidden)
        self.gate = nn.Linear(2 * n_hidden, n_hidden)
        self.cand = nn.Linear(2 * n_hidden, n_hidden)
        self.readout = nn.Linear(n_hidden, n_vocab)

    def forward(self, idx, h):
        logits = []
        for t in range(idx.size(1)):
            e = self.embed(idx[:, t])
            z = torch.sigmoid(self.gate(torch.cat([e, h], 1)))
            n = torch.tanh(self.cand(torch.cat([e, h], 1)))
            h = (1 - z) * h + z * n
            logits.append(self.readout(h))
        return torch.stack(logits, 1), h


def get_stream(n_streams):
    ids = torch.tensor([stoi[c] for c in text])
    n = ids.numel() // n_streams
    return ids[: n * n_streams].view(n_streams, n)


def run():
    torch.manual_seed(0)
    stream = get_stream(4)
    model = MinimalGRU(len(chars), 16)
    opt = torch.optim.Adam(model.parameters(), lr=3e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    h = torch.zeros(4, model.n_hidden)
    losses = []
    bptt = 8
    for i in range(0, 40, bptt):
        h = h.detach()  # do not go back into the last chunk
        x, y = stream[:, i : i + bptt], stream[:, i + 1 : i + 1 + bptt]
        logits, h = model(x, h)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        losses.append(loss.detach())
    moved = {n: not torch.equal(p, before[n]) for n, p in model.named_parameters()}
    return torch.stack(losses), moved


def verify(outcome):
    losses, moved = outcome
    assert all(moved.values())
    assert losses[-1] < losses[0]


TRUTH = Truth()
