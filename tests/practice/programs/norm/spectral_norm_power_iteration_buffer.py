"""Spectral norm by hand: u and v are buffers updated in place during forward, cloned before use; weights are deleted and rebuilt."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class SNLinear(nn.Module):
    def __init__(self, inputs, outputs, iterations=1):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.register_buffer("u", F.normalize(torch.randn(outputs), dim=0))
        self.register_buffer("v", F.normalize(torch.randn(inputs), dim=0))
        self.iterations = iterations

    def normalised(self):
        if self.training:
            with torch.no_grad():
                for _ in range(self.iterations):
                    self.v.copy_(F.normalize(self.weight.T @ self.u, dim=0))
                    self.u.copy_(F.normalize(self.weight @ self.v, dim=0))
        u, v = self.u.clone(), self.v.clone()  # two forwards before one backward must not share storage
        return self.weight / torch.dot(u, self.weight @ v)

    def forward(self, x):
        return F.linear(x, self.normalised(), self.bias)


def build():
    torch.manual_seed(0)
    return nn.Sequential(SNLinear(4, 8), nn.LeakyReLU(0.2), SNLinear(8, 1)).double()


def run():
    critic = build()
    opt = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
    log = []
    for _ in range(3):
        real, fake = torch.randn(2, 8, 4, dtype=torch.double)
        state = {k: v.clone() for k, v in critic.state_dict().items()}
        loss = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()  # forward twice
        opt.zero_grad()
        loss.backward()
        log.append((real, fake, state, {n: p.grad.clone() for n, p in critic.named_parameters()}))
        opt.step()
    critic.eval()
    kept = [b.clone() for b in critic.buffers()]
    with torch.no_grad():
        critic(real)
    return critic, log, kept


def verify(outcome):
    critic, log, kept = outcome
    assert all(torch.equal(a, b) for a, b in zip(critic.buffers(), kept))
    for real, fake, s, grads in log:
        p = {k: s[k].clone().requires_grad_() for k in grads}
        u = {i: s[f"{i}.u"] for i in "02"}

        def f(x):
            for i in "02":
                w = p[f"{i}.weight"]
                v = F.normalize(w.detach().T @ u[i], dim=0)
                u[i] = F.normalize(w.detach() @ v, dim=0)
                x = x @ (w / (u[i] @ w @ v)).T + p[f"{i}.bias"]
                x = F.leaky_relu(x, 0.2) if i == "0" else x
            return x

        loss = (1 - f(real)).clamp(min=0).mean() + (1 + f(fake)).clamp(min=0).mean()
        for (n, _), g in zip(p.items(), torch.autograd.grad(loss, list(p.values()))):
            assert torch.allclose(g, grads[n], atol=1e-9), n
    moved = [n for n, p in critic.named_parameters() if not torch.equal(p, log[0][2][n])]
    assert {"0.weight", "0.bias", "2.weight"} <= set(moved)


TRUTH = Truth()
