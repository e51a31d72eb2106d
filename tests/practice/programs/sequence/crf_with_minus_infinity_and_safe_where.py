"""Linear-chain CRF: forbidden transitions are -inf, padded steps are skipped by torch.where, sqrt features use the double-where trick."""

import itertools
import torch
from torch import nn
from tests.practice.truth import Truth

TAGS = 3


class Crf(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(TAGS, TAGS) * 0.1)
        forbidden = torch.zeros(TAGS, TAGS, dtype=torch.bool)
        forbidden[0, 2] = forbidden[2, 1] = True
        self.register_buffer("forbidden", forbidden)

    def table(self):
        return self.trans.masked_fill(self.forbidden, float("-inf"))

    def log_z(self, emit, mask):
        alpha, table = emit[:, 0], self.table()
        for t in range(1, emit.shape[1]):
            step = torch.logsumexp(alpha[:, :, None] + table[None], 1) + emit[:, t]
            alpha = torch.where(mask[:, t, None], step, alpha)
        return torch.logsumexp(alpha, 1)

    def score(self, emit, tags, mask):
        e = emit.gather(2, tags[..., None]).squeeze(2)
        tr = self.table()[tags[:, :-1], tags[:, 1:]]
        return (e * mask).sum(1) + torch.where(mask[:, 1:], tr, 0.0).sum(1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emit, self.crf = nn.Linear(4, TAGS), Crf()

    def features(self, x):
        positive = x > 0
        root = torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)  # no NaN from the branch not taken
        return torch.cat([x, root], -1)

    def forward(self, x, tags, mask):
        emit = self.emit(self.features(x))
        return (self.crf.log_z(emit, mask) - self.crf.score(emit, tags, mask)).mean()


def sample():
    lengths = torch.tensor([4, 2, 3])
    mask = torch.arange(4)[None] < lengths[:, None]
    x = torch.randn(3, 4, 2).relu().double() * mask[..., None]  # many exact zeros
    tags = torch.tensor([[0, 1, 2, 0], [1, 1, 0, 2], [2, 0, 0, 0]])  # padding breaks the grammar in row two
    return x.requires_grad_(), tags, mask


def run():
    torch.manual_seed(0)
    model = Tagger().double()
    opt = torch.optim.SGD(model.parameters(), lr=0.2)
    log = []
    for _ in range(3):
        x, tags, mask = sample()
        state = {k: v.clone() for k, v in model.state_dict().items()}
        opt.zero_grad()
        model(x, tags, mask).backward()
        log.append((x.detach(), tags, mask, state, {n: p.grad.clone() for n, p in model.named_parameters()}, x.grad))
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    allowed = {(a, b) for a in range(3) for b in range(3)} - {(0, 2), (2, 1)}
    for x, tags, mask, s, grads, x_grad in log:
        assert torch.isfinite(x_grad).all()
        w, b, t = (s[k].clone().requires_grad_() for k in ("emit.weight", "emit.bias", "crf.trans"))
        loss = 0
        for row in range(3):  # every legal path, one by one
            n = int(mask[row].sum())
            e = torch.cat([x[row], x[row].sqrt()], -1) @ w.T + b
            paths = [p for p in itertools.product(range(3), repeat=n) if all(q in allowed for q in zip(p, p[1:]))]
            value = lambda p: (
                sum(e[i, k] for i, k in enumerate(p)) + sum((t[q] for q in zip(p, p[1:])), torch.zeros(()))
            )
            loss = (
                loss + (torch.logsumexp(torch.stack([value(p) for p in paths]), 0) - value(tags[row, :n].tolist())) / 3
            )
        for n, g in zip(("emit.weight", "emit.bias", "crf.trans"), torch.autograd.grad(loss, [w, b, t])):
            assert torch.allclose(g, grads[n], atol=1e-9), n
    change = model.crf.trans != log[0][3]["crf.trans"]
    assert torch.equal(change, ~model.crf.forbidden)
    assert not torch.equal(model.emit.weight, log[0][3]["emit.weight"])


TRUTH = Truth()
