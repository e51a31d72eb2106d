"""IWAE-DReG: a tensor hook on z multiplies its gradient by the normalised weights; q is frozen inside log q, log w detached in the softmax."""

import torch
from torch import nn
from tests.practice.truth import Truth

K = 5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.log_s = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.mu(x), self.log_s(x)


def normal(x, mu, log_s):
    return (-0.5 * ((x - mu) / log_s.exp()).square() - log_s).sum(-1)


class DReG(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = Encoder(), nn.Linear(2, 4)

    def log_w(self, x, z, mu, log_s):
        return (
            normal(z, torch.zeros(()), torch.zeros(())) + normal(x, self.dec(z), torch.zeros(())) - normal(z, mu, log_s)
        )

    def forward(self, x, eps):
        mu, log_s = self.enc(x)
        z = mu + log_s.exp() * eps
        log_w = self.log_w(x, z, mu.detach(), log_s.detach())
        w = log_w.detach().softmax(0)
        if z.requires_grad:
            z.register_hook(lambda g: w[..., None] * g)
        return -(w * log_w).sum(0).mean()


def run():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.double)
    try:
        model = DReG()
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        log = []
        for _ in range(3):
            x, eps = torch.randn(6, 4), torch.randn(K, 6, 2)
            state = {k: v.clone() for k, v in model.state_dict().items()}
            loss = model(x, eps)
            opt.zero_grad()
            loss.backward()
            log.append((x, eps, state, {n: p.grad.clone() for n, p in model.named_parameters()}))
            opt.step()
    finally:
        torch.set_default_dtype(torch.float)
    return model, log


def verify(outcome):
    model, log = outcome
    for x, eps, s, grads in log:
        mu = x @ s["enc.mu.weight"].T + s["enc.mu.bias"]
        sd = (x @ s["enc.log_s.weight"].T + s["enc.log_s.bias"]).exp()
        z = mu + sd * eps
        out = z @ s["dec.weight"].T + s["dec.bias"]
        log_w = -0.5 * z.square().sum(-1) - 0.5 * (x - out).square().sum(-1) + (0.5 * eps.square() + sd.log()).sum(-1)
        w = log_w.softmax(0)[..., None]
        dz = -z + (x - out) @ s["dec.weight"] + eps / sd
        dmu = -(w.square() * dz).sum(0) / 6
        assert torch.allclose(grads["enc.mu.weight"], dmu.T @ x, atol=1e-9)
        dls = -(w.square() * dz * eps * sd).sum(0) / 6
        assert torch.allclose(grads["enc.log_s.weight"], dls.T @ x, atol=1e-9)
        assert torch.allclose(grads["dec.weight"], -torch.einsum("kbi,kbj->ij", w * (x - out), z) / 6, atol=1e-9)
    assert all(not torch.equal(p, log[0][2][n]) for n, p in model.named_parameters())


TRUTH = Truth()
