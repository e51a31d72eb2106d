"""GradCache: representations without graph, the loss on leaf copies, then chunk-wise replay with restored RNG and a surrogate."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def info_nce(q, d):
    return F.cross_entropy(q @ d.T / 0.2, torch.arange(len(q)))


class GradCache:
    def __init__(self, towers, chunk):
        self.towers, self.chunk = towers, chunk

    def forward_no_grad(self, tower, x):
        states, reps = [], []
        with torch.no_grad():
            for part in x.split(self.chunk):
                states.append(torch.get_rng_state())
                reps.append(tower(part))
        return torch.cat(reps), states

    def step(self, *inputs):
        cached = [self.forward_no_grad(t, x) for t, x in zip(self.towers, inputs)]
        leaves = [reps.detach().requires_grad_() for reps, _ in cached]
        loss = info_nce(*leaves)
        loss.backward()
        after = torch.get_rng_state()
        for tower, x, leaf, (_, states) in zip(self.towers, inputs, leaves, cached):
            for part, grad, state in zip(x.split(self.chunk), leaf.grad.split(self.chunk), states):
                torch.set_rng_state(state)
                surrogate = torch.dot(tower(part).flatten(), grad.flatten())
                surrogate.backward()
        torch.set_rng_state(after)
        return loss.detach()


def train(cached):
    torch.manual_seed(0)
    towers = nn.ModuleList([Tower(), Tower()])
    opt = torch.optim.AdamW(towers.parameters(), lr=1e-2)
    cache = GradCache(towers, chunk=4)
    losses, grads = [], []
    for _ in range(3):
        a = torch.randn(10, 6)  # the last chunk has two rows
        b = a + 0.1 * torch.randn(10, 6)
        opt.zero_grad()
        if cached:
            loss = cache.step(a, b)
        else:
            reps = [torch.cat([t(p) for p in x.split(4)]) for t, x in zip(towers, (a, b))]
            loss = info_nce(*reps)
            loss.backward()
        losses.append(loss.item())
        grads.append([p.grad.clone() for p in towers.parameters()])
        opt.step()
    return losses, grads


def run():
    return train(True)


def verify(outcome):
    losses, grads = outcome
    plain_losses, plain_grads = train(False)
    assert torch.allclose(torch.tensor(losses), torch.tensor(plain_losses), atol=1e-5)
    for a, b in zip(grads, plain_grads):
        assert all(torch.allclose(x, y, atol=1e-5) for x, y in zip(a, b))
    assert len(set(losses)) == 3


TRUTH = Truth()
