"""Rendering: the fine samples' depths lost their detach, and the fine network's loss pushes the coarse network about."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Embedder(nn.Module):
    def __init__(self, n_freqs=3):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(n_freqs))

    def forward(self, x):
        xb = x[..., None] * self.bands
        return torch.cat([x, xb.sin().flatten(-2), xb.cos().flatten(-2)], -1)


class NeRF(nn.Module):
    def __init__(self, W=24, inputs=21):
        super().__init__()
        self.embed = Embedder()
        self.pts = nn.Sequential(nn.Linear(inputs, W), nn.ReLU(), nn.Linear(W, W), nn.ReLU())
        self.alpha_linear, self.rgb_linear = nn.Linear(W, 1), nn.Linear(W + 3, 3)

    def forward(self, pts, viewdirs):
        h = self.pts(self.embed(pts))
        return torch.cat(
            [self.rgb_linear(torch.cat([h, viewdirs[:, None].expand_as(pts)], -1)), self.alpha_linear(h)], -1
        )


def raw2outputs(raw, z_vals, rays_d):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1) * rays_d[..., None, :].norm(dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    alpha = 1.0 - torch.exp(-F.softplus(raw[..., 3]) * dists)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(-2), weights


def sample_pdf(bins, weights, N_samples):
    weights = weights + 1e-5
    pdf = weights / weights.sum(-1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.rand(*cdf.shape[:-1], N_samples)
    inds = torch.searchsorted(cdf.detach().contiguous(), u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[-1] - 1)
    cdf_g = [torch.gather(cdf, 1, i) for i in (below, above)]
    bins_g = [torch.gather(bins, 1, i) for i in (below, above)]
    denom = cdf_g[1] - cdf_g[0]
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    return bins_g[0] + (u - cdf_g[0]) / denom * (bins_g[1] - bins_g[0])


def render_rays(rays_o, rays_d, coarse, fine, near=2.0, far=6.0, N_samples=8, N_importance=8):
    viewdirs = F.normalize(rays_d, dim=-1)
    t = torch.linspace(0, 1, N_samples)
    z_vals = (near * (1 - t) + far * t).expand(len(rays_o), N_samples)
    mids = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    upper, lower = torch.cat([mids, z_vals[..., -1:]], -1), torch.cat([z_vals[..., :1], mids], -1)
    z_vals = lower + (upper - lower) * torch.rand_like(z_vals)
    pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
    rgb0, weights = raw2outputs(coarse(pts, viewdirs), z_vals, rays_d)
    z_mid = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    z_samples = sample_pdf(z_mid, weights[..., 1:-1], N_importance)  # cause
    z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
    rgb, _ = raw2outputs(fine(pts, viewdirs), z_vals, rays_d)
    return {"rgb_map": rgb, "rgb0": rgb0}


def img2mse(x, y):
    return torch.mean((x - y) ** 2)


def run(lrate=5e-4, lrate_decay=2):
    torch.manual_seed(0)
    model, model_fine = NeRF(), NeRF()
    grad_vars = list(model.parameters()) + list(model_fine.parameters())
    optimizer = torch.optim.Adam(grad_vars, lr=lrate, betas=(0.9, 0.999))
    leaks = []
    for global_step in range(3):
        rays_o, rays_d = torch.randn(12, 3) * 0.1, torch.randn(12, 3)
        target_s = torch.rand(12, 3)
        out = render_rays(rays_o, rays_d, model, model_fine)
        optimizer.zero_grad()
        img_loss = img2mse(out["rgb_map"], target_s)
        leak = torch.autograd.grad(img_loss, model.alpha_linear.weight, retain_graph=True, allow_unused=True)[0]
        leaks.append(0.0 if leak is None else float(leak.abs().max()))
        loss = img_loss + img2mse(out["rgb0"], target_s)
        loss.backward()
        optimizer.step()
        for param_group in optimizer.param_groups:
            param_group["lr"] = lrate * (0.1 ** (global_step / lrate_decay))
    return leaks


def verify(leaks):
    assert min(leaks) > 0


TRUTH = Truth(
    fault="the fine loss flows into the coarse network through the sampled depths",
    names=("z_samples",),
    repair=("z_samples = sample_pdf(z_mid, weights[..., 1:-1], N_importance).detach()",),
)
