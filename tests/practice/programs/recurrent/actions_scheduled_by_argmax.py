"""A decoder feeds back its own greedy tokens, and its targets come from the data."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Captioner(nn.Module):
    def __init__(self, vocab=15, dim=12):
        super().__init__()
        self.start = nn.Linear(6, dim)
        self.emb, self.cell = nn.Embedding(vocab, dim), nn.LSTMCell(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, image, captions, own=0.5):
        h = torch.tanh(self.start(image))
        c, token, logits = torch.zeros_like(h), captions[:, 0], []
        for t in range(1, captions.shape[1]):
            h, c = self.cell(self.emb(token), (h, c))
            logits.append(self.out(h))
            use = torch.rand(len(image)) < own
            token = torch.where(use, logits[-1].argmax(1), captions[:, t])
        return torch.stack(logits, 1)


def run():
    torch.manual_seed(0)
    net = Captioner()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        captions = torch.randint(15, (5, 7))
        logits = net(torch.randn(5, 6), captions)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), captions[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
