"""Language: truncated backpropagation with carried states, two losses over one graph and a tail that is stepped too; all right."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, CHUNK, ACCUMULATE = 22, 14, 5, 2


class RecurrentLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.LSTM(DIM, DIM, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids, state):
        h, state = self.rnn(self.embed(ids), state)
        return self.head(h), h, state


def detach(state):
    return tuple(s.detach() for s in state)


def activation_penalty(h, weight=0.01):
    return weight * (h[:, 1:] - h[:, :-1]).pow(2).mean()


def chunks(ids):
    for start in range(0, ids.shape[1] - 1, CHUNK):
        piece = ids[:, start : start + CHUNK + 1]
        if piece.shape[1] > 2:
            yield piece[:, :-1], piece[:, 1:]


def train_document(model, optimizer, ids):
    state = None
    pieces = list(chunks(ids))
    group = 0
    steps = 0
    for i, (x, y) in enumerate(pieces):
        size = min(ACCUMULATE, len(pieces) - i + group)  # the last group may be smaller
        logits, h, state = model(x, state)
        main = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / size
        main.backward(retain_graph=True)
        (activation_penalty(h) / size).backward()
        state = detach(state)
        group += 1
        if group == size:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            group, steps = 0, steps + 1
    return len(pieces), steps


def run():
    torch.manual_seed(0)
    model = RecurrentLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    counts = [train_document(model, optimizer, torch.randint(0, VOCAB, (3, 26))) for _ in range(2)]
    left = [p.grad for p in model.parameters() if p.grad is not None]
    return counts, left, before, model


def verify(outcome):
    counts, left, before, model = outcome
    assert counts == [(5, 3), (5, 3)]
    assert not left
    assert model.head.weight is model.embed.weight
    assert all(not torch.equal(before[n], p) for n, p in model.named_parameters())


TRUTH = Truth()
