"""Hybrid CTC and attention: the log-probabilities of the CTC branch are detached, so its head never learns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(5, 8, batch_first=True)
        self.ctc, self.attention = nn.Linear(8, 6), nn.Linear(8, 6)

    def forward(self, x):
        h, _ = self.encoder(x)
        return self.ctc(h), self.attention(h)


def run():
    torch.manual_seed(0)
    model = Recogniser()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        x, targets = torch.randn(3, 12, 5), torch.randint(1, 6, (3, 4))
        ctc, attention = model(x)
        log_probs = ctc.log_softmax(-1).detach().transpose(0, 1)  # cause
        ctc_loss = F.ctc_loss(log_probs, targets, torch.full((3,), 12), torch.full((3,), 4))
        attention_loss = F.cross_entropy(attention[:, :4].reshape(-1, 6), targets.reshape(-1))
        loss = 0.3 * ctc_loss + 0.7 * attention_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.ctc.weight.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the CTC loss is a constant",
    names=("ctc", "detach"),
    repair=("log_probs = ctc.log_softmax(-1).transpose(0, 1)",),
)
