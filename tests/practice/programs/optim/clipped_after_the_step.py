"""The gradients are clipped when the optimizer has used them."""

import torch
from torch import nn

from tests.practice.truth import Truth


class CharRNN(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.embed, self.rnn, self.out = (
            nn.Embedding(vocab, dim),
            nn.LSTM(dim, dim, batch_first=True),
            nn.Linear(dim, vocab),
        )

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


def train(model, optimizer, batches, max_norm=0.1):
    moved = []
    for ids in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        loss.backward()
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.step()  # cause
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # cause
        moved.append(sum((p - b).pow(2).sum() for p, b in zip(model.parameters(), before)).sqrt().item())
    return moved


def run():
    torch.manual_seed(0)
    model = CharRNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return train(model, optimizer, [torch.randint(12, (4, 9)) for _ in range(3)])


TRUTH = Truth(
    fault="clipping comes after the step",
    repair=("torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)", "optimizer.step()"),
)


def verify(moved):
    assert max(moved) > 0.11
