"""AWD-style weight drop: the dropped weight is wrapped in a Parameter, so the raw weight is cut off."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class WeightDropCell(nn.Module):
    """LSTM cell with DropConnect on the hidden-to-hidden weight, one mask per sequence."""

    def __init__(self, dim, dropout=0.3):
        super().__init__()
        self.w_ih = nn.Linear(dim, 4 * dim)
        self.weight_hh_raw = nn.Parameter(torch.empty(4 * dim, dim))
        nn.init.orthogonal_(self.weight_hh_raw)
        self.dropout = dropout

    def dropped_weight(self):
        w = F.dropout(self.weight_hh_raw, p=self.dropout, training=self.training)
        return nn.Parameter(w)  # cause

    def forward(self, x, state, weight_hh):
        h, c = state
        i, f, g, o = (self.w_ih(x) + F.linear(h, weight_hh)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c


class AWDModel(nn.Module):
    def __init__(self, vocab=25, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = WeightDropCell(dim)
        self.decoder = nn.Linear(dim, vocab)
        self.dim = dim

    def init_state(self, batch):
        return torch.zeros(batch, self.dim), torch.zeros(batch, self.dim)

    def forward(self, ids, state):
        weight_hh = self.cell.dropped_weight()
        outputs = []
        for x in self.embed(ids).unbind(1):
            state = self.cell(x, state, weight_hh)
            outputs.append(state[0])
        return self.decoder(torch.stack(outputs, 1)), state


def repackage(state):
    return tuple(s.detach() for s in state)


def run():
    torch.manual_seed(0)
    model = AWDModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    stream = torch.randint(0, 25, (4, 31))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    state = model.init_state(4)
    for start in range(0, 30, 10):
        state = repackage(state)
        ids, labels = stream[:, start : start + 10], stream[:, start + 1 : start + 11]
        logits, state = model(ids, state)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
    return before, model.cell.weight_hh_raw.detach(), model.cell.w_ih.weight.detach()


def verify(outcome):
    before, raw, w_ih = outcome
    assert torch.equal(before["cell.weight_hh_raw"], raw)
    assert not torch.equal(before["cell.w_ih.weight"], w_ih)


TRUTH = Truth(
    fault="nn.Parameter(w) makes a new leaf: weight_hh_raw gets no gradient and is never trained",
    names=("weight_hh_raw",),
    repair=("return w",),
)
