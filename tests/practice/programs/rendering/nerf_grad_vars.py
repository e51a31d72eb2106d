"""Rendering: the fine network joins the list of parameters after the optimizer has copied it."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    N_samples: int = 8
    N_importance: int = 6
    N_rand: int = 16
    multires: int = 3
    lrate: float = 5e-3
    lrate_decay: int = 1
    near: float = 2.0
    far: float = 6.0


class Embedder:
    def __init__(self, multires):
        self.freqs = 2.0 ** torch.arange(multires)
        self.out_dim = 3 + 3 * 2 * multires

    def __call__(self, x):
        return torch.cat([x] + [fn(x * f) for f in self.freqs for fn in (torch.sin, torch.cos)], -1)


class NeRF(nn.Module):
    def __init__(self, input_ch, W=24):
        super().__init__()
        self.pts_linears = nn.ModuleList([nn.Linear(input_ch, W), nn.Linear(W, W), nn.Linear(W + input_ch, W)])
        self.output_linear = nn.Linear(W, 4)

    def forward(self, x):
        h = x
        for i, layer in enumerate(self.pts_linears):
            h = F.relu(layer(h))
            if i == 1:
                h = torch.cat([x, h], -1)
        return self.output_linear(h)


def raw2outputs(raw, z_vals, rays_d):
    dists = torch.cat([z_vals[:, 1:] - z_vals[:, :-1], torch.full_like(z_vals[:, :1], 1e10)], -1)
    dists = dists * rays_d.norm(dim=-1, keepdim=True)
    rgb = torch.sigmoid(raw[..., :3])
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3] + 0.1) * dists)
    trans = torch.cumprod(torch.cat([torch.ones(len(alpha), 1), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(-2), weights


def sample_pdf(bins, weights, n):
    pdf = (weights + 1e-5) / (weights + 1e-5).sum(-1, keepdim=True)
    cdf = torch.cat([torch.zeros(len(pdf), 1), pdf.cumsum(-1)], -1)
    u = torch.rand(len(cdf), n)
    inds = torch.searchsorted(cdf, u, right=True).clamp(1, bins.size(1) - 1)
    below, above = bins.gather(1, inds - 1), bins.gather(1, inds)
    return below + torch.rand_like(u) * (above - below)


def render_rays(rays_o, rays_d, net, net_fine, embed, args):
    z_vals = torch.linspace(args.near, args.far, args.N_samples).expand(len(rays_o), -1)
    z_vals = z_vals + torch.rand_like(z_vals) * (args.far - args.near) / args.N_samples
    pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
    rgb0, weights = raw2outputs(net(embed(pts)), z_vals, rays_d)
    mids = 0.5 * (z_vals[:, 1:] + z_vals[:, :-1])
    z_samples = sample_pdf(mids, weights[:, 1:-1], args.N_importance).detach()
    z_all, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    pts = rays_o[:, None] + rays_d[:, None] * z_all[..., None]
    rgb, _ = raw2outputs(net_fine(embed(pts)), z_all, rays_d)
    return rgb, rgb0


def create_nerf(args):
    embed = Embedder(args.multires)
    model = NeRF(embed.out_dim)
    grad_vars = list(model.parameters())
    optimizer = torch.optim.Adam(grad_vars, lr=args.lrate, betas=(0.9, 0.999))  # also
    model_fine = None
    if args.N_importance > 0:
        model_fine = NeRF(embed.out_dim)
        grad_vars += list(model_fine.parameters())  # cause
    return model, model_fine, embed, optimizer


def run():
    torch.manual_seed(0)
    args = Args()
    net, net_fine, embed, optimizer = create_nerf(args)
    before = [p.detach().clone() for p in net_fine.parameters()]
    for global_step in range(3):
        rays_o = torch.tensor([0.0, 0.0, 4.0]).expand(args.N_rand, -1)
        rays_d = torch.cat([torch.randn(args.N_rand, 2) * 0.2, -torch.ones(args.N_rand, 1)], -1)
        target = torch.sigmoid(rays_d * 3)
        rgb, rgb0 = render_rays(rays_o, rays_d, net, net_fine, embed, args)
        loss = F.mse_loss(rgb, target) + F.mse_loss(rgb0, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = args.lrate * 0.1 ** (global_step / (args.lrate_decay * 1000))
    return before, [p.detach() for p in net_fine.parameters()]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="the optimizer took a copy of grad_vars before the fine network was appended: the fine network never moves",
    names=("pts_linears",),
    repair=('optimizer.add_param_group({"params": list(model_fine.parameters())})',),
)
