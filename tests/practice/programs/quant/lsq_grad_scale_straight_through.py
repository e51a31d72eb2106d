"""LSQ: learned step sizes with the detach-and-add gradient scale and a straight-through round; step initialised lazily in no_grad."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


def round_pass(x):
    return (x.round() - x).detach() + x


class LsqQuantizer(nn.Module):
    def __init__(self, bits, signed=True):
        super().__init__()
        self.low, self.high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        self.step = nn.Parameter(torch.ones(()))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if not self.ready:
            with torch.no_grad():
                self.step.copy_(2 * x.abs().mean() / self.high**0.5)
                self.ready.fill_(True)
        s = grad_scale(self.step, 1 / (x.numel() * self.high) ** 0.5)
        return round_pass((x / s).clamp(self.low, self.high)) * s


class QuantLinear(nn.Linear):
    def __init__(self, *args):
        super().__init__(*args)
        self.wq, self.aq = LsqQuantizer(4), LsqQuantizer(4)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(QuantLinear(5, 8), nn.ReLU(), QuantLinear(8, 2))
    opt = torch.optim.AdamW(
        [
            {"params": [p for n, p in net.named_parameters() if "step" not in n], "weight_decay": 0.01},
            {"params": [p for n, p in net.named_parameters() if "step" in n], "weight_decay": 0.0},
        ],
        lr=5e-3,
    )
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    seen = []
    hook = net[0].wq.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].clone()))
    log = []
    for _ in range(3):
        x, y = torch.randn(16, 5), torch.randint(2, (16,))
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        q = net[0]
        log.append(
            (
                q.weight.detach().clone(),
                q.wq.step.detach().clone(),
                seen[-1],
                q.weight.grad.clone(),
                q.wq.step.grad.clone(),
            )
        )
        opt.step()
    hook.remove()
    return net, start, log


def verify(outcome):
    net, start, log = outcome
    for w, s, upstream, got_w, got_s in log:
        r = w / s
        inside = (r >= -8) & (r <= 7)
        assert torch.allclose(got_w, upstream * inside, atol=1e-6)
        d = torch.where(inside, r.round() - r, r.clamp(-8, 7))
        assert torch.allclose(got_s, (upstream * d).sum() / (w.numel() * 7) ** 0.5, atol=1e-6)
    assert all(not torch.equal(p, start[n]) for n, p in net.named_parameters())
    assert all(m.ready for m in net.modules() if isinstance(m, LsqQuantizer))


TRUTH = Truth()
