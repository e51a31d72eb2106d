"""Gradient clipping is done after the optimizer's step, and zero_grad() throws the clipped gradients away."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=8, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])

    def crf_nll(self, emissions, tags):
        score = emissions[:, 0].gather(1, tags[:, :1]).squeeze(1)
        alpha = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            score = (
                score
                + emissions[:, t].gather(1, tags[:, t : t + 1]).squeeze(1)
                + self.transitions[tags[:, t - 1], tags[:, t]]
            )
            alpha = torch.logsumexp(alpha[:, :, None] + self.transitions, dim=1) + emissions[:, t]
        return (alpha.logsumexp(1) - score).sum()


def train_step(model, opt, ids, tags, max_norm):
    opt.zero_grad()
    loss = model.crf_nll(model(ids), tags)
    loss.backward()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt.step()  # cause
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # also
    moved = torch.stack([(p.detach() - before[n]).norm() for n, p in model.named_parameters()]).norm()
    return loss.item(), norm.item(), moved.item()


def run():
    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    log = []
    for step in range(3):
        ids = torch.randint(0, 20, (16, 7))
        loss, norm, moved = train_step(model, opt, ids, ids % 4, max_norm=1.0)
        log.append((norm, moved))
        print(f"step {step} nll {loss:.2f} norm {norm:.2f} update {moved:.4f}")
    return log


def verify(out):
    assert all(moved > 0.011 for _, moved in out)


TRUTH = Truth(
    fault="the step uses unclipped gradients",
    names=("clip_grad_norm_",),
    repair=("nn.utils.clip_grad_norm_(model.parameters(), max_norm)\nopt.step()",),
)
