"""Language modelling: init_weights() makes a new encoder weight after the tie, so the "tied" model has two tables and one is not trained as meant."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RNNModel(nn.Module):
    """Encoder, recurrent module and decoder."""

    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.nhid, self.nlayers = nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        table = torch.empty(self.ntoken, self.encoder.embedding_dim).uniform_(-initrange, initrange)
        self.encoder = nn.Embedding.from_pretrained(table, freeze=False)  # cause
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


def train(model, train_data, lr, bptt=6, clip=0.25):
    model.train()
    total_loss = 0.0
    hidden = model.init_hidden(train_data.size(1))
    for i in range(0, train_data.size(0) - 1, bptt):
        data, targets = get_batch(train_data, i, bptt)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = F.nll_loss(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return math.exp(total_loss / max(1, len(train_data) // bptt))


def run():
    torch.manual_seed(1111)
    corpus = torch.randint(0, 20, (80,))
    train_data = batchify(corpus, 4)
    model = RNNModel(20, 12, 12, 1, tie_weights=True)
    ppl = train(model, train_data, lr=5.0)
    return model.encoder.weight.detach().clone(), model.decoder.weight.detach().clone(), ppl


def verify(outcome):
    encoder, decoder, _ = outcome
    assert not torch.equal(encoder, decoder)


TRUTH = Truth(
    fault="the embedding is replaced after its weight was tied to the decoder",
    names=("encoder",),
    repair=("self.encoder.weight.data.copy_(table)",),
)
