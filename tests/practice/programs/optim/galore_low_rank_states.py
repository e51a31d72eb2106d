"""GaLore: Adam works on a projected gradient of another shape; the projection is renewed by SVD and the small moments are kept."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class GaLoreAdam:
    def __init__(self, named, rank, lr, refresh):
        self.rank, self.lr, self.refresh = rank, lr, refresh
        self.slots = {}
        for name, p in named:
            low = p.ndim == 2 and min(p.shape) > rank
            proxy = nn.Parameter(torch.zeros(rank, p.shape[1], dtype=p.dtype)) if low else p
            self.slots[name] = dict(param=p, proxy=proxy, low=low, basis=None, opt=torch.optim.Adam([proxy], lr=lr))
        self.t = 0

    @torch.no_grad()
    def step(self):
        for slot in self.slots.values():
            p, proxy = slot["param"], slot["proxy"]
            if slot["low"]:
                if self.t % self.refresh == 0:
                    slot["basis"] = torch.linalg.svd(p.grad, full_matrices=False)[0][:, : self.rank]
                proxy.grad = slot["basis"].T @ p.grad
                proxy.zero_()  # after the step it holds nothing but the update
            slot["opt"].step()
            if slot["low"]:
                p.add_(slot["basis"] @ proxy)
                proxy.grad = None
            p.grad = None
        self.t += 1


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 9), nn.SiLU(), nn.Linear(9, 4)).double()


def data():
    g = torch.Generator().manual_seed(2)
    return [(torch.randn(12, 6, generator=g).double(), torch.randint(4, (12,), generator=g)) for _ in range(4)]


def run():
    model = build()
    opt = GaLoreAdam(model.named_parameters(), rank=2, lr=1e-2, refresh=2)
    for x, y in data():
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model, {n: tuple(s["opt"].state[s["proxy"]]["exp_avg"].shape) for n, s in opt.slots.items()}


def verify(outcome):
    model, shapes = outcome
    assert shapes == {"0.weight": (2, 6), "0.bias": (9,), "2.weight": (2, 9), "2.bias": (4,)}
    plain = build()
    params = list(plain.parameters())
    start = [p.detach().clone() for p in params]
    m, v, basis = [0] * 4, [0] * 4, [None] * 4
    for t, (x, y) in enumerate(data(), start=1):
        for i, (p, g) in enumerate(zip(params, torch.autograd.grad(F.cross_entropy(plain(x), y), params))):
            if p.ndim == 2:
                if t % 2:
                    basis[i] = torch.linalg.svd(g, full_matrices=False)[0][:, :2]
                g = basis[i].T @ g
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g
            step = 1e-2 * m[i] / (1 - 0.9**t) / ((v[i] / (1 - 0.999**t)).sqrt() + 1e-8)
            p.data = p.data - (basis[i] @ step if p.ndim == 2 else step)
    for a, b, s in zip(model.parameters(), params, start):
        assert torch.allclose(a, b, atol=1e-8) and not torch.equal(a, s) and a.grad is None


TRUTH = Truth()
