"""AWD-LSTM's weight drop: the dropped matrix is wrapped in a new Parameter, so the raw one gets no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WeightDrop(nn.Module):
    def __init__(self, cell, weight="weight_hh", p=0.5):
        super().__init__()
        self.cell, self.weight, self.p = cell, weight, p
        raw = getattr(cell, weight)
        del cell._parameters[weight]
        self.register_parameter(f"{weight}_raw", nn.Parameter(raw.detach().clone()))

    def _setweights(self):
        raw = getattr(self, f"{self.weight}_raw")
        dropped = F.dropout(raw, p=self.p, training=self.training)
        setattr(self.cell, self.weight, nn.Parameter(dropped))  # cause

    def forward(self, x):
        self._setweights()
        h = c = x.new_zeros(x.shape[1], self.cell.hidden_size)
        outs = []
        for step in x:
            h, c = self.cell(step, (h, c))
            outs.append(h)
        return torch.stack(outs)


class LM(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = WeightDrop(nn.LSTMCell(dim, dim))
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.emb.weight  # tied

    def forward(self, tokens):
        raw = self.rnn(self.emb(tokens))
        return self.out(raw), raw


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.ASGD(model.parameters(), lr=0.5, weight_decay=0)
    for step in range(3):
        tokens = torch.randint(0, 20, (7, 4))
        logits, raw = model(tokens[:-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[1:].flatten())
        loss = loss + 2.0 * raw.pow(2).mean() + (raw[1:] - raw[:-1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        print(f"step {step} loss {loss.item():.3f}")
    return model


def verify(out):
    assert out.rnn.weight_hh_raw.grad is None


TRUTH = Truth(
    fault="the raw recurrent matrix is cut off by a new Parameter",
    names=("weight_hh",),
    repair=("setattr(self.cell, self.weight, dropped)",),
)
