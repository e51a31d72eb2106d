"""NeRF coarse-to-fine: fine sample positions come from detached coarse weights; two fields, one loss, one optimizer."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, p):
        raw = self.net(p)
        return raw[..., :3].sigmoid(), nn.functional.softplus(raw[..., 3])


def composite(rgb, sigma, t):
    delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], 1.0)], 1)
    alpha = 1 - torch.exp(-sigma * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], 1), 1)
    w = alpha * trans
    return (w[..., None] * rgb).sum(1), w


@torch.no_grad()
def sample_pdf(t, w, n):
    cdf = torch.cumsum((w + 1e-5) / (w + 1e-5).sum(1, keepdim=True), 1)
    u = torch.rand(len(t), n)
    return t.gather(1, torch.searchsorted(cdf, u).clamp(max=t.shape[1] - 1)) + 0.01 * torch.rand(len(t), n)


class Renderer(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse, self.fine = Field(), Field()

    def forward(self, o, d):
        t = torch.linspace(0, 2, 8).expand(len(o), -1).contiguous()
        t += torch.rand_like(t) * 0.2
        rgb_c, w = composite(*self.coarse(o[:, None] + t[..., None] * d[:, None]), t)
        tf = torch.cat([t, sample_pdf(t, w.detach(), 6)], 1).sort(1).values
        rgb_f, _ = composite(*self.fine(o[:, None] + tf[..., None] * d[:, None]), tf)
        return rgb_c, rgb_f, t, tf


def run():
    torch.manual_seed(0)
    model = Renderer()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    log = []
    for _ in range(3):
        o, d, target = torch.randn(6, 3), nn.functional.normalize(torch.randn(6, 3), dim=1), torch.rand(6, 3)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        c, f, t, tf = model(o, d)
        opt.zero_grad()
        ((c - target).square().mean() + (f - target).square().mean()).backward()
        log.append((state, o, d, target, t, tf, {n: p.grad.clone() for n, p in model.named_parameters()}))
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    twin = Renderer()
    for state, o, d, target, t, tf, grads in log:
        twin.load_state_dict(state)
        for name, field, ts in (("coarse", twin.coarse, t), ("fine", twin.fine, tf)):
            rgb, sigma = field(o[:, None] + ts[..., None] * d[:, None])
            out, left = 0, torch.ones(6)
            for i in range(ts.shape[1]):  # ray marching, sample by sample
                dt = ts[:, i + 1] - ts[:, i] if i + 1 < ts.shape[1] else torch.ones(6)
                a = 1 - torch.exp(-sigma[:, i] * dt)
                out = out + (left * a)[:, None] * rgb[:, i]
                left = left * (1 - a)
            got = torch.autograd.grad((out - target).square().mean(), list(field.parameters()))
            for (n, _), g in zip(field.named_parameters(), got):
                assert torch.allclose(g, grads[f"{name}.{n}"], atol=1e-5)
    assert all(not torch.equal(p, log[0][0][k]) for k, p in model.named_parameters())


TRUTH = Truth()
