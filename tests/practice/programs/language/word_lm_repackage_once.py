"""Language: repackage_hidden left the batch loop, and the second batch runs into the first one's graph."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    ntoken: int = 20
    emsize: int = 12
    nhid: int = 12
    nlayers: int = 2
    bptt: int = 5
    batch_size: int = 4
    clip: float = 0.25
    lr: float = 1.0
    tied: bool = True
    log_interval: int = 2


class RNNModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(args.ntoken, args.emsize)
        self.rnn = nn.LSTM(args.emsize, args.nhid, args.nlayers, dropout=0.2)
        self.decoder = nn.Linear(args.nhid, args.ntoken)
        if args.tied:
            if args.nhid != args.emsize:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.args.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        shape = (self.args.nlayers, bsz, self.args.nhid)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


def evaluate(model, source, args):
    model.eval()
    total, hidden = 0.0, model.init_hidden(args.batch_size)
    with torch.no_grad():
        for i in range(0, len(source) - 1, args.bptt):
            data, targets = get_batch(source, i, args.bptt)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total += len(data) * F.nll_loss(output, targets).item()
    return total / (len(source) - 1)


def train(model, source, args):
    model.train()
    total_loss, log = 0.0, []
    hidden = repackage_hidden(model.init_hidden(args.batch_size))  # also
    for batch, i in enumerate(range(0, len(source) - 1, args.bptt)):
        data, targets = get_batch(source, i, args.bptt)
        model.zero_grad()
        output, hidden = model(data, hidden)  # cause
        loss = F.nll_loss(output, targets)
        loss.backward()  # symptom
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-args.lr)
        total_loss += loss.item()
        if (batch + 1) % args.log_interval == 0:
            log.append(total_loss / args.log_interval)
            total_loss = 0.0
    return log


def run():
    torch.manual_seed(1111)
    args = Args()
    model = RNNModel(args)
    corpus = torch.arange(90) * 7 % args.ntoken
    train_data, val_data = batchify(corpus, args.batch_size), batchify(corpus[:40], args.batch_size)
    log = train(model, train_data, args)
    return log, evaluate(model, val_data, args)


TRUTH = Truth(
    fault="the hidden state is carried from batch to batch without being detached: backward() enters a freed graph",
    raises="Trying to backward through the graph a second time",
    names=("hidden",),
    repair=("output, hidden = model(data, repackage_hidden(hidden))",),
)
