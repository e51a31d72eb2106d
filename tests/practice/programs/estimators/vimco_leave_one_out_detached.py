"""VIMCO for a discrete latent: leave-one-out learning signals are detached, decoder and encoder learn from one mixed surrogate."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

K = 4


class SBN(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 3), nn.Linear(3, 6)
        self.prior = nn.Parameter(torch.zeros(3))

    def weights(self, x, h):
        q = self.enc(x)
        log_q = -F.binary_cross_entropy_with_logits(q.expand_as(h), h, reduction="none").sum(-1)
        log_p = -F.binary_cross_entropy_with_logits(self.prior.expand_as(h), h, reduction="none").sum(-1)
        log_x = -F.binary_cross_entropy_with_logits(self.dec(h), x.expand(K, *x.shape), reduction="none").sum(-1)
        return log_p + log_x - log_q, log_q


@torch.no_grad()
def signals(log_w):
    total = torch.logsumexp(log_w, 0) - math.log(K)
    out = torch.empty_like(log_w)
    for j in range(K):
        others = torch.cat([log_w[:j], log_w[j + 1 :]])
        filled = torch.cat([others, others.mean(0, keepdim=True)])
        out[j] = total - (torch.logsumexp(filled, 0) - math.log(K))
    return out


def surrogate(model, x):
    with torch.no_grad():
        h = torch.bernoulli(model.enc(x).sigmoid().expand(K, -1, -1))
    log_w, log_q = model.weights(x, h)
    bound = torch.logsumexp(log_w, 0) - math.log(K)
    score = (signals(log_w.detach()) * log_q).sum(0)
    return -(bound + score).mean(), bound, h


def run():
    torch.manual_seed(0)
    model = SBN().double()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    log = []
    for _ in range(3):
        x = (torch.rand(8, 6) < 0.4).double()
        state = {k: v.clone() for k, v in model.state_dict().items()}
        loss, bound, h = surrogate(model, x)
        opt.zero_grad()
        loss.backward()
        log.append((x, h, state, {n: p.grad.clone() for n, p in model.named_parameters()}))
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    for x, h, s, grads in log:
        q, d = x @ s["enc.weight"].T + s["enc.bias"], h @ s["dec.weight"].T + s["dec.bias"]
        bern = lambda logit, v: (v * F.logsigmoid(logit) + (1 - v) * F.logsigmoid(-logit)).sum(-1)
        log_w = bern(s["prior"], h) + bern(d, x) - bern(q, h)
        soft = log_w.softmax(0)[..., None]
        coef = (signals(log_w)[..., None] - soft) * (h - q.sigmoid())
        assert torch.allclose(grads["enc.weight"], -torch.einsum("kbi,bj->ij", coef, x) / 8, atol=1e-9)
        err = soft * (x - d.sigmoid())
        assert torch.allclose(grads["dec.weight"], -torch.einsum("kbi,kbj->ij", err, h) / 8, atol=1e-9)
        assert torch.allclose(grads["prior"], -(soft * (h - s["prior"].sigmoid())).sum((0, 1)) / 8, atol=1e-9)
    assert all(not torch.equal(p, log[0][2][n]) for n, p in model.named_parameters())


TRUTH = Truth()
