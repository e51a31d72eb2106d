"""InfoGAN: the head that recovers the code is in no optimizer, so the mutual-information term is read by noise."""

import itertools

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SharedBody(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.1))

    def forward(self, x):
        return self.net(x)


def noise(n, n_cat=4, n_cont=2):
    z = torch.randn(n, 6)
    cat = torch.randint(0, n_cat, (n,))
    cont = torch.rand(n, n_cont) * 2 - 1
    return torch.cat([z, F.one_hot(cat, n_cat).float(), cont], 1), cat, cont


def run():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh())
    body, d_head = SharedBody(), nn.Linear(32, 1)
    q_head = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4 + 2 * 2))
    start = [p.detach().clone() for p in q_head.parameters()]
    d_opt = torch.optim.Adam(
        itertools.chain(body.parameters(), d_head.parameters()), lr=2e-4, betas=(0.5, 0.99)
    )  # also
    g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.99))  # cause
    for it in range(3):
        real = torch.rand(8, 16) * 2 - 1
        code, cat, cont = noise(8)
        fake = gen(code)
        d_loss = F.softplus(-d_head(body(real))).mean() + F.softplus(d_head(body(fake.detach()))).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()

        h = body(fake)
        logits, mu, logvar = q_head(h).split([4, 2, 2], 1)
        info = F.cross_entropy(logits, cat) + 0.1 * F.gaussian_nll_loss(mu, cont, logvar.exp())
        g_loss = F.softplus(-d_head(h)).mean() + info
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        print(f"it {it} d {d_loss.item():.3f} g {g_loss.item():.3f} info {info.item():.3f}")
    return q_head, start


def verify(out):
    q_head, start = out
    assert all(torch.equal(p, s) for p, s in zip(q_head.parameters(), start))


TRUTH = Truth(
    fault="the parameters of the code head were not given to an optimizer",
    names=("q_head",),
    repair=(
        "g_opt = torch.optim.Adam(\n"
        "    itertools.chain(gen.parameters(), q_head.parameters()), lr=1e-3, betas=(0.5, 0.99)\n"
        ")",
    ),
)
