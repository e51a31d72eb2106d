"""The PyTorch tutorial's decoder: it feeds back its own choice, detached, or the teacher's word."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class AttnDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.Wa, self.Ua, self.Va = (
            nn.Embedding(12, 8),
            nn.Linear(8, 8),
            nn.Linear(8, 8),
            nn.Linear(8, 1),
        )
        self.gru, self.out = nn.GRU(16, 8, batch_first=True), nn.Linear(8, 12)

    def forward(self, enc, hidden, target=None):
        token, outs = torch.zeros(enc.shape[0], 1, dtype=torch.long), []
        for i in range(4):
            scores = self.Va(torch.tanh(self.Wa(hidden.permute(1, 0, 2)) + self.Ua(enc))).squeeze(2).unsqueeze(1)
            context = torch.bmm(F.softmax(scores, -1), enc)
            out, hidden = self.gru(torch.cat([self.embedding(token), context], 2), hidden)
            out = self.out(out)
            outs.append(out)
            if target is not None:
                token = target[:, i].unsqueeze(1)
            else:
                _, top = out.topk(1)
                token = top.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outs, 1), -1)


def run():
    torch.manual_seed(0)
    random.seed(1)
    encoder, decoder = Encoder(), AttnDecoder()
    enc_opt, dec_opt = torch.optim.Adam(encoder.parameters()), torch.optim.Adam(decoder.parameters())
    criterion, total = nn.NLLLoss(), 0
    for step in range(4):
        x, y = torch.randint(1, 12, (3, 5)), torch.randint(1, 12, (3, 4))
        enc_opt.zero_grad()
        dec_opt.zero_grad()
        out, hidden = encoder(x)
        logp = decoder(out, hidden, y if step % 2 else None)
        loss = criterion(logp.view(-1, 12), y.view(-1))
        loss.backward()
        enc_opt.step()
        dec_opt.step()
        total += loss.item()
    return total


TRUTH = Truth()
