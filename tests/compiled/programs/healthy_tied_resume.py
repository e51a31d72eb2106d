"""Tied model saved through its compiled wrapper and resumed, tie kept, evaluation between."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=10, d=6):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.body = nn.Sequential(nn.Linear(d, d), nn.Dropout(0.1))
        self.out = nn.Linear(d, vocab, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, t):
        return self.out(self.body(self.emb(t)))


def loss_of(net, t):
    return F.cross_entropy(net(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())


def train(net, opt, n):
    net.train()
    for _ in range(n):
        loss = loss_of(net, torch.randint(0, 10, (4, 6)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        return loss_of(net, torch.arange(10).repeat(2, 1)).item()


def run():
    torch.manual_seed(0)
    net = torch.compile(LM(), backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    train(net, opt, 2)
    value = train(net, opt, 1)
    buf = io.BytesIO()
    torch.save([net.state_dict(), opt.state_dict()], buf)
    buf.seek(0)
    weights, state = torch.load(buf)
    again = torch.compile(LM(), backend=BACKEND)
    again.load_state_dict(weights)
    opt2 = torch.optim.Adam(again.parameters(), lr=1e-2)
    opt2.load_state_dict(state)
    resumed = train(again, opt2, 0)
    train(again, opt2, 2)
    return value, resumed, again._orig_mod


def right(out):
    value, resumed, model = out
    assert abs(value - resumed) < 1e-6
    assert model.out.weight is model.emb.weight and len(list(model.parameters())) == 3


TRUTH = Truth()
