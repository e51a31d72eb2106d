"""Truncated backpropagation: the state is repackaged between chunks, carried over the epoch, and reset by zeros."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, tie_weights=True):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, 1)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.nhid = nhid

    def forward(self, inp, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(inp)), hidden)
        return self.decoder(self.drop(output)).flatten(0, 1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(1, bsz, self.nhid), weight.new_zeros(1, bsz, self.nhid)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def run():
    torch.manual_seed(0)
    model, criterion, lr = RNNModel(11, 8, 8), nn.CrossEntropyLoss(), 5.0
    data = torch.randint(11, (13, 4))
    ppl = []
    for epoch in range(2):
        model.train()
        hidden, total_loss = model.init_hidden(4), 0.0
        for i in range(0, 12, 4):
            inputs, targets = data[i : i + 4], data[i + 1 : i + 5].reshape(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(inputs, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total_loss += loss.item()
        model.eval()
        with torch.no_grad():
            val, _ = model(data[:4], model.init_hidden(4))
            ppl.append(math.exp(criterion(val, data[1:5].reshape(-1)).item()))
        lr /= 4.0
    return model, total_loss, ppl


TRUTH = Truth()


def verify(out):
    model, total_loss, ppl = out
    assert model.decoder.weight is model.encoder.weight
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert 0 < total_loss < 100 and all(p < 1e3 for p in ppl)
