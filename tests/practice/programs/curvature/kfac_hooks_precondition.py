"""K-FAC: forward pre-hooks and full backward hooks collect factors, .grad is replaced by the preconditioned one, then plain SGD."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class KFAC:
    def __init__(self, model, damping=0.1, decay=0.5):
        self.layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
        self.damping, self.decay = damping, decay
        self.a, self.g, self.recording = {}, {}, True
        for m in self.layers:
            m.register_forward_pre_hook(self.save_input)
            m.register_full_backward_hook(self.save_grad)

    def running(self, store, m, new):
        store[m] = new if m not in store else store[m].mul(self.decay).add(new, alpha=1 - self.decay)

    def save_input(self, m, inputs):
        if m.training and torch.is_grad_enabled():
            x = inputs[0].detach()
            x = torch.cat([x, x.new_ones(len(x), 1)], 1)
            self.running(self.a, m, x.T @ x / len(x))

    def save_grad(self, m, grad_in, grad_out):
        d = grad_out[0].detach() * len(grad_out[0])
        self.running(self.g, m, d.T @ d / len(d))

    @torch.no_grad()
    def precondition(self):
        for m in self.layers:
            g = torch.cat([m.weight.grad, m.bias.grad[:, None]], 1)
            eye_a, eye_g = torch.eye(g.shape[1]).to(g), torch.eye(g.shape[0]).to(g)
            g = torch.linalg.solve(self.g[m] + self.damping * eye_g, g)
            g = torch.linalg.solve(self.a[m] + self.damping * eye_a, g, left=False)
            m.weight.grad.copy_(g[:, :-1])
            m.bias.grad.copy_(g[:, -1])


def data():
    g = torch.Generator().manual_seed(5)
    return [
        (torch.randn(16, 5, generator=g, dtype=torch.double), torch.randint(3, (16,), generator=g)) for _ in range(3)
    ]


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


def run():
    model = build()
    kfac, opt = KFAC(model), torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in data():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        kfac.precondition()
        opt.step()
        model.eval()
        with torch.no_grad():
            model(x)
        model.train()
    return model


def verify(model):
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    fa, fg = [None, None], [None, None]
    for x, y in data():
        pre = F.linear(x, plain[0].weight, plain[0].bias)
        mid = pre.tanh()
        logits = F.linear(mid, plain[2].weight, plain[2].bias)
        d2 = logits.softmax(1) - F.one_hot(y, 3)
        d1 = (d2 @ plain[2].weight) * (1 - mid**2)
        for i, (inp, d, layer) in enumerate(((x, d1, plain[0]), (mid, d2, plain[2]))):
            inp, d = torch.cat([inp, inp.new_ones(16, 1)], 1).detach(), d.detach()
            a, g = inp.T @ inp / 16, d.T @ d / 16
            fa[i] = a if fa[i] is None else (fa[i] + a) / 2
            fg[i] = g if fg[i] is None else (fg[i] + g) / 2
            step = (
                torch.linalg.inv(fg[i] + 0.1 * torch.eye(len(g)).double())
                @ (d.T @ inp / 16)
                @ torch.linalg.inv(fa[i] + 0.1 * torch.eye(len(a)).double())
            )
            layer.weight.data -= 0.05 * step[:, :-1]
            layer.bias.data -= 0.05 * step[:, -1]
    for a, b, s in zip(model.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-8) and not torch.equal(a, s)


TRUTH = Truth()
