"""TensoRF: the grids are replaced by finer ones; of the two lines that follow a merge kept the one with the rate."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TensorVM(nn.Module):
    def __init__(self, res=6, n_comp=4, app_dim=6):
        super().__init__()
        self.density_plane, self.density_line = self.init_svd(res, n_comp), self.init_lines(res, n_comp)
        self.basis = nn.Linear(3 * n_comp, app_dim, bias=False)
        self.render = nn.Sequential(nn.Linear(app_dim + 3, 16), nn.ReLU(), nn.Linear(16, 3))

    def init_svd(self, res, n):
        return nn.ParameterList(nn.Parameter(0.2 * torch.randn(1, n, res, res)) for _ in range(3))

    def init_lines(self, res, n):
        return nn.ParameterList(nn.Parameter(0.2 * torch.randn(1, n, res, 1)) for _ in range(3))

    def features(self, xyz):
        out = []
        for i, (plane, line) in enumerate(zip(self.density_plane, self.density_line)):
            a, b = [j for j in range(3) if j != i]
            p = F.grid_sample(plane, xyz[None, :, None, [a, b]], align_corners=True)[0, :, :, 0]
            at = torch.stack([torch.zeros_like(xyz[:, i]), xyz[:, i]], -1)
            line_feat = F.grid_sample(line, at[None, :, None], align_corners=True)[0, :, :, 0]
            out.append(p * line_feat)
        return torch.cat(out).T

    def forward(self, xyz, viewdirs):
        feat = self.features(xyz)
        sigma = F.softplus(feat.sum(-1) - 1)
        return sigma, self.render(torch.cat([self.basis(feat), viewdirs], -1)).sigmoid()

    @torch.no_grad()
    def upsample_volume_grid(self, res):
        for i in range(3):
            plane = F.interpolate(self.density_plane[i].data, size=(res, res), mode="bilinear", align_corners=True)
            line = F.interpolate(self.density_line[i].data, size=(res, 1), mode="bilinear", align_corners=True)
            self.density_plane[i], self.density_line[i] = nn.Parameter(plane), nn.Parameter(line)

    def get_optparam_groups(self, lr_spatial, lr_net):
        grids = [*self.density_plane, *self.density_line]
        nets = [*self.basis.parameters(), *self.render.parameters()]
        return [{"params": grids, "lr": lr_spatial}, {"params": nets, "lr": lr_net}]


def render_rays(field, rays, n_samples=8):
    o, d = rays[:, :3], rays[:, 3:]
    z = torch.linspace(0, 1, n_samples)
    pts = (o[:, None] + d[:, None] * z[:, None]).clamp(-1, 1)
    sigma, rgb = field(pts.reshape(-1, 3), d[:, None].expand_as(pts).reshape(-1, 3))
    alpha = 1 - torch.exp(-sigma.view(len(rays), n_samples) / n_samples)
    trans = torch.cumprod(torch.cat([torch.ones(len(rays), 1), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    return ((alpha * trans)[..., None] * rgb.view(len(rays), n_samples, 3)).sum(1)


def run():
    torch.manual_seed(0)
    field, upsamp_list = TensorVM(), {2: 10}
    optimizer = torch.optim.Adam(field.get_optparam_groups(2e-2, 1e-3), betas=(0.9, 0.99))
    for iteration in range(5):
        rays = F.normalize(torch.randn(32, 2, 3), dim=-1).flatten(1) * 0.5
        loss = F.mse_loss(render_rays(field, rays), rays[:, :3].abs())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration in upsamp_list:
            field.upsample_volume_grid(upsamp_list[iteration])  # also
            optimizer.param_groups[0]["lr"], optimizer.param_groups[1]["lr"] = 2e-2, 1e-3  # cause
            fine = [p.detach().clone() for p in field.density_plane]
    return [torch.equal(p, f) for p, f in zip(field.density_plane, fine)]


def verify(same):
    assert all(same)


TRUTH = Truth(
    fault="the optimizer still has the coarse grids: the finer ones are new parameters",
    names=("density_plane",),
    repair=("optimizer = torch.optim.Adam(field.get_optparam_groups(2e-2, 1e-3), betas=(0.9, 0.99))",),
)
