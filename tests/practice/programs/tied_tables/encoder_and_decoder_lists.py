"""'Loss explodes with a shared embedding': lists of parameters are joined, and the shared table is in both."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, embedding, dim):
        super().__init__()
        self.embedding, self.rnn = embedding, nn.GRU(dim, dim, batch_first=True)

    def forward(self, src):
        return self.rnn(self.embedding(src))[1]


class Decoder(nn.Module):
    def __init__(self, embedding, dim, vocab):
        super().__init__()
        self.embedding, self.rnn = embedding, nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tgt, hidden):
        output, _ = self.rnn(self.embedding(tgt), hidden)
        return self.out(output)


class Seq2Seq(nn.Module):
    def __init__(self, vocab=25, dim=12):
        super().__init__()
        shared = nn.Embedding(vocab, dim)
        self.encoder, self.decoder = Encoder(shared, dim), Decoder(shared, dim, vocab)

    def forward(self, src, tgt):
        return self.decoder(tgt, self.encoder(src))


def train_step(model, optimizer, src, tgt):
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def make_optimizer(model, lr):
    params = list(model.encoder.parameters()) + list(model.decoder.parameters())  # cause
    return torch.optim.SGD(params, lr=lr, momentum=0.9, foreach=False)


def run():
    torch.manual_seed(0)
    model = Seq2Seq()
    optimizer = make_optimizer(model, lr=0.1)
    table = model.encoder.embedding.weight
    ratios = []
    for _ in range(4):
        before = table.detach().clone()
        src, tgt = torch.randint(0, 25, (4, 6)), torch.randint(0, 25, (4, 7))
        train_step(model, optimizer, src, tgt)
        if not ratios:
            ratios.append(((before - table.detach()).norm() / (0.1 * table.grad.norm())).item())
    return ratios[0]


def verify(ratio):
    assert ratio > 1.5, ratio


TRUTH = Truth(
    fault="the shared embedding is twice in one group: each step updates it twice",
    names=("embedding",),
    repair=("params = list(model.parameters())",),
)
