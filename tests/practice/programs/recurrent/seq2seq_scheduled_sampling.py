"""Seq2seq with attention: now and then the decoder eats its own argmax, which carries no gradient, and stops at EOS."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

SOS, EOS = 0, 1


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class AttnDecoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.Wa, self.Ua = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden)
        self.Va = nn.Linear(hidden, 1, bias=False)
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def step(self, token, hidden, keys):
        query = hidden.permute(1, 0, 2)
        weights = F.softmax(self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2), -1)
        context = torch.bmm(weights.unsqueeze(1), keys)
        output, hidden = self.gru(torch.cat([self.embedding(token), context], 2), hidden)
        return self.out(output), hidden

    def forward(self, keys, hidden, target=None, length=5):
        token, outputs = torch.full((len(keys), 1), SOS), []
        for i in range(length):
            out, hidden = self.step(token, hidden, keys)
            outputs.append(out)
            if target is not None and random.random() < 0.5:
                token = target[:, i].unsqueeze(1)
            else:
                _, topi = out.topk(1)
                token = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, 1), -1)


def run():
    torch.manual_seed(0)
    random.seed(0)
    encoder, decoder = Encoder(9, 8), AttnDecoder(9, 8)
    opts = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in (encoder, decoder)]
    criterion, losses = nn.NLLLoss(), []
    for _ in range(3):
        src = torch.randint(2, 9, (4, 5))
        tgt = src.flip(1)
        tgt[:, -1] = EOS
        for opt in opts:
            opt.zero_grad()
        keys, hidden = encoder(src)
        logp = decoder(keys, hidden, tgt)
        loss = criterion(logp.view(-1, logp.size(-1)), tgt.reshape(-1))
        loss.backward()
        for opt in opts:
            opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        ids = decoder(*encoder(src[:1])).argmax(-1).squeeze().tolist()
    return encoder, decoder, losses, ids


TRUTH = Truth()


def verify(out):
    encoder, decoder, losses, ids = out
    assert all(p.grad.abs().sum() > 0 for m in (encoder, decoder) for p in m.parameters())
    assert all(0 < loss < 100 for loss in losses) and len(ids) == 5
