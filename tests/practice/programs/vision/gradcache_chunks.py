"""Retrieval: GradCache - representations without a graph first, their gradients cached, then a second pass in chunks with the same random state; healthy."""
from contextlib import nullcontext

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RandContext:
    def __init__(self):
        self.fwd_cpu_state = torch.get_rng_state()

    def __enter__(self):
        self._fork = torch.random.fork_rng(devices=[], enabled=True)
        self._fork.__enter__()
        torch.set_rng_state(self.fwd_cpu_state)

    def __exit__(self, *exc):
        self._fork.__exit__(*exc)
        self._fork = None


class GradCache:
    def __init__(self, models, chunk_size, loss_fn):
        self.models, self.chunk_size, self.loss_fn = models, chunk_size, loss_fn

    def forward_no_grad(self, model, inputs):
        states, reps = [], []
        with torch.no_grad():
            for x in inputs:
                states.append(RandContext())
                reps.append(model(x))
        return torch.cat(reps), states

    def build_cache(self, *reps):
        reps = [r.detach().requires_grad_() for r in reps]
        loss = self.loss_fn(*reps)
        loss.backward()
        return [r.grad for r in reps], loss.detach()

    def forward_backward(self, model, inputs, cached, states):
        for x, state, gradient in zip(inputs, states, cached):
            with state:
                y = model(x)
            surrogate = torch.dot(y.flatten(), gradient.flatten())
            surrogate.backward()

    def __call__(self, *model_inputs):
        chunks = [x.split(self.chunk_size) for x in model_inputs]
        passed = [self.forward_no_grad(m, c) for m, c in zip(self.models, chunks)]
        cache, loss = self.build_cache(*[reps for reps, _ in passed])
        for model, c, grads, (_, states) in zip(self.models, chunks, cache, passed):
            self.forward_backward(model, c, grads.split(self.chunk_size), states)
        return loss


class Tower(nn.Module):
    def __init__(self, inputs, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 16), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(16), nn.Linear(16, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class InfoNCE(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, q, d):
        logits = self.log_scale.exp() * q @ d.t()
        return F.cross_entropy(logits, torch.arange(len(q)))


def run():
    torch.manual_seed(0)
    query, document, loss_fn = Tower(6), Tower(10), InfoNCE()
    params = [*query.parameters(), *document.parameters(), *loss_fn.parameters()]
    optimizer = torch.optim.AdamW(params, lr=1e-2)
    before = [p.detach().clone() for p in params]
    cache = GradCache([query, document], chunk_size=4, loss_fn=loss_fn)
    for _ in range(3):
        optimizer.zero_grad()
        cache(torch.randn(12, 6), torch.randn(12, 10))
        optimizer.step()
    after = [p.detach().clone() for p in params]
    query.eval(), document.eval()
    q, d = torch.randn(12, 6), torch.randn(12, 10)
    grads = []
    for backward in (lambda: cache(q, d), lambda: loss_fn(query(q), document(d)).backward()):
        with nullcontext():
            optimizer.zero_grad()
            backward()
            grads.append([p.grad.clone() for p in params])
    return before, after, grads


def verify(outcome):
    before, after, grads = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*grads))


TRUTH = Truth()
