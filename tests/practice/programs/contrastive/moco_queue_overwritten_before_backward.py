"""MoCo: the key queue is a buffer, cloned for the logits and then overwritten in place before backward; keys are shuffled and unshuffled."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class MoCo(nn.Module):
    def __init__(self, dim=6, size=16, m=0.8, t=0.2):
        super().__init__()
        self.m, self.t = m, t
        self.q = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, dim))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, size), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def momentum_update(self):
        for pq, pk in zip(self.q.parameters(), self.k.parameters()):
            pk.data = pk.data * self.m + pq.data * (1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        at = int(self.ptr)
        self.queue[:, at : at + len(keys)] = keys.T
        self.ptr[0] = (at + len(keys)) % self.queue.shape[1]

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            order = torch.randperm(len(b))
            k = F.normalize(self.k(b[order]), dim=1)[order.argsort()]
        pos = torch.einsum("nc,nc->n", q, k)[:, None]
        neg = q @ self.queue.clone().detach()
        logits = torch.cat([pos, neg], 1) / self.t
        self.enqueue(k)
        return logits, torch.zeros(len(a), dtype=torch.long)


def run():
    torch.manual_seed(0)
    model = MoCo()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    log = []
    for _ in range(5):
        x = torch.randn(4, 5)
        a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        state = {n: v.clone() for n, v in model.state_dict().items()}
        loss = F.cross_entropy(*model(a, b))
        opt.zero_grad()
        loss.backward()
        log.append(
            (
                a,
                b,
                state,
                {n: p.grad for n, p in model.named_parameters()},
                {n: v.clone() for n, v in model.state_dict().items()},
            )
        )
        log[-1][3].update({n: g.clone() for n, g in log[-1][3].items() if g is not None})
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    for a, b, s, grads, after in log:
        w = {n: v.clone().requires_grad_(n.startswith("q.")) for n, v in s.items() if n not in ("queue", "ptr")}
        mlp = lambda p, x: F.normalize((x @ p[0].T + p[1]).relu() @ p[2].T + p[3], dim=1)
        qs = [w[f"q.{i}.{n}"] for i in (0, 2) for n in ("weight", "bias")]
        ks = [0.8 * w[f"k.{i}.{n}"] + 0.2 * w[f"q.{i}.{n}"].detach() for i in (0, 2) for n in ("weight", "bias")]
        q, k = mlp(qs, a), mlp(ks, b)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ s["queue"]], 1) / 0.2
        wanted = torch.autograd.grad(-logits.log_softmax(1)[:, 0].mean(), qs)
        for n, g in zip(("q.0.weight", "q.0.bias", "q.2.weight", "q.2.bias"), wanted):
            assert torch.allclose(g, grads[n], atol=1e-5)
        assert all(g is None for n, g in grads.items() if n.startswith("k."))
        at = int(s["ptr"])
        assert torch.allclose(after["queue"][:, at : at + 4], k.T, atol=1e-6)
    assert int(model.ptr) == 4
    assert all(not torch.equal(v, log[0][2][n]) for n, v in model.state_dict().items())


TRUTH = Truth()
