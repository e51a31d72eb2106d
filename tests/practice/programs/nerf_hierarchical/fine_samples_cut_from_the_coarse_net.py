"""nerf-pytorch-like, and right: fine samples are detached from the coarse weights, which have a loss of their own."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Embedder:
    def __init__(self, freqs=3):
        self.bands = 2.0 ** torch.arange(freqs)

    def __call__(self, x):
        xf = (x[..., None] * self.bands).flatten(-2)
        return torch.cat([x, xf.sin(), xf.cos()], -1)


class NeRF(nn.Module):
    def __init__(self, cin, width=24):
        super().__init__()
        self.pts = nn.Sequential(nn.Linear(cin, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.alpha_linear, self.rgb_linear = nn.Linear(width, 1), nn.Linear(width, 3)

    def forward(self, x):
        h = self.pts(x)
        return self.rgb_linear(h).sigmoid(), self.alpha_linear(h).squeeze(-1)


def raw2outputs(rgb, sigma, z):
    dists = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(z[:, :1], 1e10)], 1)
    alpha = 1 - torch.exp(-nn.functional.softplus(sigma) * dists)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(1), weights


def sample_pdf(bins, weights, n):
    pdf = (weights + 1e-5) / (weights + 1e-5).sum(1, keepdim=True)
    cdf = torch.cat([torch.zeros_like(pdf[:, :1]), pdf.cumsum(1)], 1)
    u = torch.rand(len(cdf), n)
    inds = torch.searchsorted(cdf.detach(), u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[1] - 1)
    lo, hi = cdf.gather(1, below), cdf.gather(1, above)
    denom = hi - lo
    t = (u - lo) / torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    b0, b1 = bins.gather(1, below), bins.gather(1, above)
    return b0 + t * (b1 - b0)


def render_rays(rays_o, rays_d, coarse, fine, embed, n_coarse=8, n_fine=8):
    z = torch.linspace(1.0, 4.0, n_coarse).expand(len(rays_o), -1)
    z = z + 0.1 * torch.rand_like(z)
    pts = rays_o[:, None] + rays_d[:, None] * z[..., None]
    rgb0, weights = raw2outputs(*coarse(embed(pts)), z)
    mid = 0.5 * (z[:, 1:] + z[:, :-1])
    z_samples = sample_pdf(mid, weights[:, 1:-1], n_fine).detach()
    z, _ = torch.sort(torch.cat([z, z_samples], 1), 1)
    pts = rays_o[:, None] + rays_d[:, None] * z[..., None]
    rgb, _ = raw2outputs(*fine(embed(pts)), z)
    return rgb, rgb0


def run():
    torch.manual_seed(0)
    embed = Embedder()
    coarse, fine = NeRF(3 + 18), NeRF(3 + 18)
    grad_vars = list(coarse.parameters())
    grad_vars += list(fine.parameters())
    optimizer = torch.optim.Adam(grad_vars, lr=5e-4, betas=(0.9, 0.999))
    start = [p.detach().clone() for p in grad_vars]
    for step in range(3):
        d = nn.functional.normalize(torch.randn(16, 3), dim=1)
        rgb, rgb0 = render_rays(torch.zeros(16, 3), d, coarse, fine, embed)
        target = d.abs()
        loss = (rgb - target).pow(2).mean() + (rgb0 - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = 5e-4 * 0.1 ** (step / 250)
    return [(p.detach() - s).abs().max().item() for p, s in zip(grad_vars, start)]


def verify(outcome):
    assert all(v > 0 for v in outcome)


TRUTH = Truth()
