"""ORPO: the log-odds of an answer that the model is sure of: log(1 - p) at p = 1."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def mean_logps(logits, ids):
    return logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2).mean(-1)


def log_odds(logps):
    return logps - torch.log1p(-logps.exp())  # cause


def orpo_loss(model, chosen, rejected, weight=0.1):
    both = torch.cat([chosen, rejected])
    logits = model(both[:, :-1])
    good, bad = mean_logps(logits, both).chunk(2)
    nll = F.cross_entropy(logits[: len(chosen)].flatten(0, 1), chosen[:, 1:].flatten())
    return nll - weight * F.logsigmoid(log_odds(good) - log_odds(bad)).mean()


def run():
    torch.manual_seed(0)
    model = TinyLM()
    with torch.no_grad():
        model.head.bias[4] = 40.0  # as after many epochs on one answer
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        chosen, rejected = torch.full((3, 6), 4), torch.randint(12, (3, 6))
        loss = orpo_loss(model, chosen, rejected)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return model


def verify(model):
    assert model.head.weight.isnan().any()


TRUTH = Truth(
    fault="log(1 - p) is infinite where p is 1, and so is its derivative",
    names=("log1p",),
    values=True,
    repair=("return logps - torch.log1p(-logps.exp().clamp(max=1 - 1e-6))",),
)
