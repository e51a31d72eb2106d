"""Character RNN: the hidden state is carried over batches with its graph: 'Trying to backward through the graph a second time'."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

corpus = "hello world, this is a forum question about recurrent networks. " * 3
vocab = sorted(set(corpus))
char2idx = {c: i for i, c in enumerate(vocab)}


class CharLSTM(nn.Module):
    def __init__(self, n_vocab, hidden=16, layers=2):
        super().__init__()
        self.hidden_size, self.layers = hidden, layers
        self.emb = nn.Embedding(n_vocab, 8)
        self.lstm = nn.LSTM(8, hidden, layers, dropout=0.1)
        self.linear = nn.Linear(hidden, n_vocab)

    def forward(self, x, state):
        out, state = self.lstm(self.emb(x), state)
        return self.linear(out), state

    def init_state(self, batch):
        zeros = torch.zeros(self.layers, batch, self.hidden_size)
        return zeros, zeros.clone()


def sequences(batch=3, length=6):
    data = torch.tensor([char2idx[c] for c in corpus])
    data = data[: len(data) // batch * batch].view(batch, -1).t()
    for i in range(0, 4 * length, length):
        yield data[i : i + length], data[i + 1 : i + length + 1]


def train(model, optimizer, criterion):
    state_h, state_c = model.init_state(3)
    losses = []
    for x, y in sequences():
        optimizer.zero_grad()
        logits, (state_h, state_c) = model(x, (state_h, state_c))
        loss = criterion(logits.transpose(1, 2), y)
        # the answers said to detach the hidden state
        state_h = state_h.detach()
        state_c = state_c.clone()  # cause
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = CharLSTM(len(vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return train(model, optimizer, nn.CrossEntropyLoss())


TRUTH = Truth(
    fault="the cell state is carried into the next batch with its graph (only the hidden state is detached)",
    raises="Trying to backward through the graph a second time",
    names=("state_c",),
    repair=("state_c = state_c.detach()",),
)
