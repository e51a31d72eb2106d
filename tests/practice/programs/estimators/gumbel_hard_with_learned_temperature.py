"""Hard Gumbel-softmax gates: one-hot forward, soft backward by detach-and-add; the temperature learns too, scatter writes the one-hot in place."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class GumbelGate(nn.Module):
    def __init__(self, inputs, choices):
        super().__init__()
        self.logits = nn.Linear(inputs, choices)
        self.log_tau = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        logits = self.logits(x)
        if not self.training:
            return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(x)
        with torch.no_grad():
            noise = -torch.empty_like(logits).exponential_().log()
        self.noise = noise
        soft = ((logits + noise) / self.log_tau.exp()).softmax(-1)
        hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
        return hard - soft.detach() + soft


class Switch(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = GumbelGate(4, 3)
        self.codes = nn.Parameter(torch.randn(3, 5))
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        z = self.gate(x)
        return self.out(torch.tanh(z @ self.codes)), z


def run():
    torch.manual_seed(0)
    model = Switch().double()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    log = []
    for _ in range(3):
        x, y = torch.randn(10, 4, dtype=torch.double), torch.randint(2, (10,))
        state = {k: v.clone() for k, v in model.state_dict().items()}
        logits, z = model(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        log.append(
            (x, y, z.detach(), model.gate.noise, state, {n: p.grad.clone() for n, p in model.named_parameters()})
        )
        opt.step()
    model.eval()
    with torch.no_grad():
        hard = model(x)[1]
    return model, hard, log


def verify(outcome):
    model, hard, log = outcome
    assert torch.equal(hard.sum(1), torch.ones(10).double()) and hard.max() == 1
    for x, y, z, noise, s, grads in log:
        one = F.one_hot(z.argmax(1), 3).double()
        assert torch.allclose(z, one)
        h = torch.tanh(one @ s["codes"])
        d = (F.softmax(h @ s["out.weight"].T + s["out.bias"], 1) - F.one_hot(y, 2)) / 10
        assert torch.allclose(grads["out.weight"], d.T @ h, atol=1e-9)
        dh = d @ s["out.weight"] * (1 - h * h)
        assert torch.allclose(grads["codes"], one.T @ dh, atol=1e-9)
        dz = dh @ s["codes"].T
        u = (x @ s["gate.logits.weight"].T + s["gate.logits.bias"] + noise) / s["gate.log_tau"].exp()
        p = u.softmax(1)
        du = p * (dz - (p * dz).sum(1, keepdim=True))
        assert torch.allclose(grads["gate.logits.weight"], du.T @ x / s["gate.log_tau"].exp(), atol=1e-9)
        assert torch.allclose(grads["gate.log_tau"], -(du * u).sum(), atol=1e-9)
    assert all(not torch.equal(v, log[0][4][k]) for k, v in model.state_dict().items())


TRUTH = Truth()
