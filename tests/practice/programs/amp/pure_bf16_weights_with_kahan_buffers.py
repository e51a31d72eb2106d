"""Pure bf16 training: each weight carries a compensation buffer; most steps leave the bf16 weight unchanged until the buffer spills over."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class KahanSGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["shift"] = torch.zeros_like(p)
                self.state[p]["velocity"] = torch.zeros_like(p, dtype=torch.float)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state[p]
                s["velocity"].mul_(group["momentum"]).add_(p.grad.float())
                s["shift"].sub_(s["velocity"].mul(group["lr"]).bfloat16())
                old = p.clone()
                p.add_(s["shift"])
                s["shift"].add_(old.sub_(p))  # what the rounding took away


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x.to(self.a.weight.dtype)))).float()


def build():
    torch.manual_seed(0)
    net = Mlp().bfloat16()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(p.sign() * 0.5)  # large weights, so that single updates are below half an ulp
    return net


def run():
    net = build()
    opt = KahanSGD(net.parameters(), lr=2e-4)
    g = torch.Generator().manual_seed(3)
    start = [p.detach().clone() for p in net.parameters()]
    exact, velocity = [p.float() for p in start], [torch.zeros_like(p, dtype=torch.float) for p in start]
    still = []
    for _ in range(30):
        x, y = torch.randn(16, 6, generator=g), torch.randint(3, (16,), generator=g)
        before = [p.detach().clone() for p in net.parameters()]
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        for i, p in enumerate(net.parameters()):
            velocity[i] = 0.9 * velocity[i] + p.grad.float()
            exact[i] = exact[i] - 2e-4 * velocity[i]
        opt.step()
        still.append(sum(int((a == b).sum()) for a, b in zip(before, net.parameters())))
    return net, opt, start, exact, still


def verify(outcome):
    net, opt, start, exact, still = outcome
    total = sum(p.numel() for p in net.parameters())
    assert max(still) > 0.8 * total
    for p, e, s in zip(net.parameters(), exact, start):
        carried = p.detach().float() + opt.state[p]["shift"].float()
        assert (carried - e).abs().max() < 2e-4  # weight plus buffer follows the fp32 run
        assert (p != s).any()
    twin = build()
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    got = torch.autograd.grad(F.cross_entropy(twin(x), y), list(twin.parameters()))
    full = torch.autograd.grad(F.cross_entropy(twin.float()(x), y), list(twin.parameters()))
    assert all(torch.allclose(a.float(), b, atol=2e-2) for a, b in zip(got, full))


TRUTH = Truth()
