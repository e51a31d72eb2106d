"""ControlNet: a frozen denoiser, a trainable copy behind zero convolutions (no gradient before them in step one), self-conditioning."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.inp = nn.Conv2d(2, ch, 3, padding=1)
        self.mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def encode(self, x, sc):
        return F.silu(self.mid(F.silu(self.inp(torch.cat([x, sc], 1)))))

    def forward(self, x, sc, control=0):
        return self.out(self.encode(x, sc) + control)


def zero_conv(ch):
    conv = nn.Conv2d(ch, ch, 1)
    nn.init.zeros_(conv.weight)
    nn.init.zeros_(conv.bias)
    return conv


class ControlNet(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.copy = copy.deepcopy(base)
        del self.copy.out
        self.hint = nn.Conv2d(1, 1, 3, padding=1)
        self.zero = zero_conv(4)

    def forward(self, x, sc, hint):
        return self.zero(self.copy.encode(x + self.hint(hint), sc))


def run():
    torch.manual_seed(0)
    base = Denoiser().requires_grad_(False).eval()
    net = ControlNet(base)
    net.requires_grad_(True)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0)
    kept = {k: v.clone() for k, v in base.state_dict().items()}
    start = {k: v.clone() for k, v in net.state_dict().items()}
    log = []
    for step in range(4):
        x0, hint, eps = torch.randn(3, 4, 1, 6, 6)
        a = torch.rand(4, 1, 1, 1)
        xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
        sc = torch.zeros_like(xt)
        if step % 2:
            with torch.no_grad():
                sc = base(xt, sc, net(xt, sc, hint))
        pred = base(xt, sc, net(xt, sc, hint))
        loss = F.mse_loss(pred, eps)
        opt.zero_grad()
        loss.backward()
        state = {k: v.clone() for k, v in net.state_dict().items()}
        log.append((xt, sc, hint, eps, state, {n: p.grad.clone() for n, p in net.named_parameters()}))
        opt.step()
    return base, kept, net, start, log


def verify(outcome):
    base, kept, net, start, log = outcome
    assert all(torch.equal(v, kept[k]) for k, v in base.state_dict().items())
    assert all(p.grad is None for p in base.parameters())
    first = log[0][-1]
    assert all((g == 0).all() for n, g in first.items() if not n.startswith("zero")) and first["zero.weight"].any()
    twin = ControlNet(base)
    for xt, sc, hint, eps, state, grads in log:
        twin.load_state_dict(state)
        twin.requires_grad_(True)
        h = torch.cat([xt + twin.hint(hint), sc], 1)
        h = F.silu(twin.copy.mid(F.silu(twin.copy.inp(h))))
        pred = F.conv2d(
            base.encode(xt, sc) + F.conv2d(h, twin.zero.weight, twin.zero.bias),
            base.out.weight,
            base.out.bias,
            padding=1,
        )
        for (n, _), g in zip(
            twin.named_parameters(), torch.autograd.grad((pred - eps).pow(2).mean(), list(twin.parameters()))
        ):
            assert torch.allclose(g, grads[n], atol=1e-6)
    assert all(not torch.equal(v, start[k]) for k, v in net.state_dict().items())


TRUTH = Truth()
