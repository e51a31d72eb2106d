"""Character LSTM by truncated BPTT: the hidden state is detached between windows, the cell state is not."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

TEXT = "the quick brown fox jumps over the lazy dog and runs into the deep dark woods again "


class CharLM(nn.Module):
    def __init__(self, vocab, emb=8, hidden=16, layers=2):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hidden, layers, dropout=0.1)
        self.decoder = nn.Linear(hidden, vocab)
        self.hidden, self.layers = hidden, layers

    def forward(self, x, state):
        out, state = self.rnn(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(out)), state

    def init_state(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(self.layers, bsz, self.hidden), w.new_zeros(self.layers, bsz, self.hidden)


def repackage(state):
    h, c = state
    return h.detach(), c  # cause


def batchify(text, bsz):
    vocab = sorted(set(text))
    ids = torch.tensor([vocab.index(ch) for ch in text])
    n = len(ids) // bsz
    return ids[: n * bsz].view(bsz, n).t().contiguous(), len(vocab)


def get_batch(source, i, bptt):
    length = min(bptt, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


def run():
    torch.manual_seed(1111)
    source, vocab = batchify(TEXT, bsz=4)
    model = CharLM(vocab)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    total = 0.0
    for epoch in range(1):
        model.train()
        state = model.init_state(4)
        for i in range(0, len(source) - 1, 6):
            x, y = get_batch(source, i, bptt=6)
            state = repackage(state)
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.reshape(-1, vocab), y)
            opt.zero_grad()
            loss.backward()  # symptom
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} mean loss {total / 4:.3f}")
    return model


TRUTH = Truth(
    fault="the cell state carries the last window's graph on",
    raises="Trying to backward through the graph a second time",
    repair=("return h.detach(), c.detach()",),
)
