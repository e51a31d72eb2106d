"""Gaussian splatting: every few steps points are cloned and pruned; new Parameters replace the old, Adam state is cut and padded along."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Splats:
    def __init__(self, n):
        self.params = {
            "xy": nn.Parameter(torch.rand(n, 2)),
            "log_s": nn.Parameter(torch.full((n,), -2.0)),
            "logit": nn.Parameter(torch.randn(n)),
        }
        self.opt = torch.optim.Adam([{"params": [p], "lr": 0.02, "name": k} for k, p in self.params.items()], eps=1e-15)
        self.grad_norm = torch.zeros(n)

    def render(self, pix):
        d2 = (pix[:, None] - self.params["xy"][None]).square().sum(-1)
        return (self.params["logit"].sigmoid() * torch.exp(-d2 / (2 * self.params["log_s"].exp() ** 2))).sum(1)

    def replace(self, change):
        for group in self.opt.param_groups:
            old = group["params"][0]
            state = self.opt.state.pop(old)
            new = nn.Parameter(change(old.detach(), False))
            for key in ("exp_avg", "exp_avg_sq"):
                state[key] = change(state[key], True)
            group["params"][0] = new
            self.opt.state[new] = state
            self.params[group["name"]] = new

    def densify(self, count):
        hot = self.grad_norm.topk(count).indices
        self.replace(lambda t, moment: torch.cat([t, torch.zeros_like(t[hot]) if moment else t[hot]]))

    def prune(self, keep):
        self.replace(lambda t, moment: t[keep].clone())
        self.grad_norm = torch.zeros(int(keep.sum()))


def adam_by_hand(w, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 0.02 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-15)


def run():
    torch.manual_seed(0)
    splats = Splats(8)
    g = torch.linspace(0, 1, 7)
    pix = torch.cartesian_prod(g, g)
    image = torch.exp(-(pix - 0.4).square().sum(1) / 0.05)
    sizes, log = [], []
    for step in range(1, 7):
        loss = (splats.render(pix) - image).square().mean()
        splats.opt.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            splats.grad_norm += splats.params["xy"].grad.norm(dim=1)
            p, s = splats.params["xy"], splats.opt.state[splats.params["xy"]]
            if step > 1:
                log.append([p.clone(), p.grad.clone(), s["exp_avg"].clone(), s["exp_avg_sq"].clone(), step])
        splats.opt.step()
        if step > 1:
            log[-1].append(splats.params["xy"].detach().clone())
        if step % 2 == 0 and step < 6:
            splats.densify(3)
            alpha = splats.params["logit"].detach().sigmoid()
            splats.prune(alpha > alpha.kthvalue(2).values)
        sizes.append(len(splats.params["xy"]))
    return splats, pix, image, sizes, log


def verify(outcome):
    splats, pix, image, sizes, log = outcome
    assert sizes[0] == 8 and len(set(sizes)) > 1
    for w, g, m, v, t, after in log:
        assert torch.allclose(adam_by_hand(w, g, m, v, t), after, atol=1e-6) and not torch.equal(w, after)
    assert len(splats.opt.state) == 3 and all(p in splats.opt.state for p in splats.params.values())
    loss = (splats.render(pix) - image).square().mean()
    (got,) = torch.autograd.grad(loss, splats.params["xy"])
    xy, s, a = splats.params["xy"], splats.params["log_s"].exp(), splats.params["logit"].sigmoid()
    diff = pix[:, None] - xy[None]
    k = a * torch.exp(-diff.square().sum(-1) / (2 * s**2))
    err = 2 * (k.sum(1) - image) / len(pix)
    assert torch.allclose(got, (err[:, None, None] * k[..., None] * diff / s[None, :, None] ** 2).sum(0), atol=1e-5)


TRUTH = Truth()
