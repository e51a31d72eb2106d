"""Accelerate accumulates over two batches, but the optimizer was not prepared: it steps and clears at every batch."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=11, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.wte(ids))[0])


def train(accelerator, model, optimizer, loader):
    steps = 0
    for ids in loader:
        with accelerator.accumulate(model):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            accelerator.backward(loss)
            before = model.head.weight.detach().clone()
            optimizer.step()  # also
            steps += int(not torch.equal(before, model.head.weight))
            optimizer.zero_grad()  # also
    return steps


def run():
    torch.manual_seed(0)
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    model = LM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(torch.randint(11, (16, 6)), batch_size=4)
    model, loader = accelerator.prepare(model, loader)  # cause
    return train(accelerator, model, optimizer, loader)


def verify(steps):
    assert steps == 4


TRUTH = Truth(
    fault="the optimizer steps at every micro-batch with half of its gradient",
    repair=("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",),
)
