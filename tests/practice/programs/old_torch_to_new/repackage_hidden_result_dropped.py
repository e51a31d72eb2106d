"""Old PyTorch to new: repackage_hidden() made new Variables and is now called for its effect only; the state drags the last batch's graph along."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class RNNModel(nn.Module):
    def __init__(self, ntoken=20, ninp=8, nhid=8):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(1, bsz, 8), weight.new_zeros(1, bsz, 8)


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    return data[: len(data) // bsz * bsz].view(bsz, -1).t().contiguous()


def train(model, optimizer, source, bptt=4):
    hidden = model.init_hidden(source.shape[1])
    for i in range(0, len(source) - 1, bptt):
        length = min(bptt, len(source) - 1 - i)
        data, targets = source[i : i + length], source[i + 1 : i + 1 + length]
        repackage_hidden(hidden)  # cause
        optimizer.zero_grad()
        output, hidden = model(data, hidden)
        loss = F.cross_entropy(output.flatten(0, 1), targets.flatten())
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
    return hidden


def run():
    torch.manual_seed(0)
    model = RNNModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return train(model, optimizer, batchify(torch.randint(0, 20, (56,)), 4))


TRUTH = Truth(
    fault="the detached hidden state is thrown away: the second batch backpropagates into the first one's freed graph",
    raises="Trying to backward through the graph a second time",
    names=("hidden",),
    repair=("hidden = repackage_hidden(hidden)",),
)
