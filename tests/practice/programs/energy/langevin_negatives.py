"""EBM by contrastive divergence: the Langevin steps use create_graph, so the loss trains through the sampler."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Energy(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def langevin(energy, x, steps=5, step_size=0.1, noise=0.01):
    x = x.clone().requires_grad_(True)
    for _ in range(steps):
        (g,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)  # cause
        x = x - step_size * g.clamp(-1, 1) + noise * torch.randn_like(x)
    return x  # also


def two_moons(n):
    angle = torch.rand(n) * torch.pi
    side = torch.randint(0, 2, (n,)) * 2 - 1
    xy = torch.stack([angle.cos() + 0.5 * side, angle.sin() * side], dim=1)
    return xy + 0.05 * torch.randn(n, 2)


def run():
    torch.manual_seed(0)
    energy = Energy()
    opt = torch.optim.Adam(energy.parameters(), lr=1e-3, betas=(0.0, 0.999))
    for step in range(3):
        pos = two_moons(16)
        neg = langevin(energy, torch.rand(16, 2) * 4 - 2)
        e_pos, e_neg = energy(pos), energy(neg)
        cd = e_pos.mean() - e_neg.mean()
        reg = 0.1 * (e_pos**2 + e_neg**2).mean()
        loss = cd + reg
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} E+ {e_pos.mean().item():.3f} E- {e_neg.mean().item():.3f}")
    return energy, neg


def verify(out):
    _, neg = out
    node, seen = [neg.grad_fn], set()
    while node:  # the energy's weights lie behind the negative samples
        fn = node.pop()
        if fn is not None and fn not in seen:
            seen.add(fn)
            node += [up for up, _ in fn.next_functions]
    leaves = [fn.variable for fn in seen if hasattr(fn, "variable")]
    assert any(leaf.shape == (16, 16) and isinstance(leaf, nn.Parameter) for leaf in leaves)


TRUTH = Truth(
    fault="the loss is differentiated through the sampler",
    repair=("(g,) = torch.autograd.grad(energy(x).sum(), x)\nx = x.detach().requires_grad_(True)",),
)
