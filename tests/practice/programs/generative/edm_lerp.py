"""Diffusion: EDM's average is made with lerp_ on a detached parameter, which pulls the network itself back to its average."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class SongNet(nn.Module):
    def __init__(self, dim=6, hidden=24):
        super().__init__()
        self.map_noise = nn.Linear(1, hidden)
        self.enc = nn.Linear(dim, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, dim)
        nn.init.normal_(self.out.weight, std=1e-3)

    def forward(self, x, noise_labels):
        return self.out(self.mid(self.enc(x) + self.map_noise(noise_labels.view(-1, 1))))


class EDMPrecond(nn.Module):
    def __init__(self, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data
        self.model = SongNet()

    def forward(self, x, sigma):
        sigma = sigma.reshape(-1, 1)
        c_skip = self.sigma_data**2 / (sigma**2 + self.sigma_data**2)
        c_out = sigma * self.sigma_data / (sigma**2 + self.sigma_data**2).sqrt()
        c_in = 1 / (self.sigma_data**2 + sigma**2).sqrt()
        c_noise = sigma.log() / 4
        return c_skip * x + c_out * self.model(c_in * x, c_noise.flatten())


class EDMLoss:
    def __init__(self, P_mean=-1.2, P_std=1.2, sigma_data=0.5):
        self.P_mean, self.P_std, self.sigma_data = P_mean, P_std, sigma_data

    def __call__(self, net, images):
        rnd_normal = torch.randn([images.shape[0], 1])
        sigma = (rnd_normal * self.P_std + self.P_mean).exp()
        weight = (sigma**2 + self.sigma_data**2) / (sigma * self.sigma_data) ** 2
        n = torch.randn_like(images) * sigma
        return weight * ((net(images + n, sigma) - images) ** 2)


def update_ema(ema, net, cur_nimg, batch_size, ema_halflife, ema_rampup_ratio):
    if ema_rampup_ratio is not None:
        ema_halflife = min(ema_halflife, cur_nimg * ema_rampup_ratio)
    ema_beta = 0.5 ** (batch_size / max(ema_halflife, 1e-8))
    for p_ema, p_net in zip(ema.parameters(), net.parameters()):
        p_ema.copy_(p_net.detach().lerp_(p_ema, ema_beta))  # cause


def training_loop(
    net, dataset, batch_size=8, batch_gpu=4, total=40, lr_rampup=16, ema_halflife=200, ema_rampup_ratio=None
):
    net.train().requires_grad_(True)
    loss_fn = EDMLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8)
    ema = copy.deepcopy(net).eval().requires_grad_(False)
    cur_nimg, kept = 0, []
    while cur_nimg < total:
        optimizer.zero_grad(set_to_none=True)
        for _ in range(batch_size // batch_gpu):
            images = dataset[torch.randint(0, len(dataset), (batch_gpu,))]
            loss_fn(net, images).sum().mul(1.0 / batch_size).backward()
        for g in optimizer.param_groups:
            g["lr"] = 1e-2 * min(cur_nimg / max(lr_rampup, 1e-8), 1) + 1e-4
        for param in net.parameters():
            if param.grad is not None:
                torch.nan_to_num(param.grad, nan=0, posinf=1e5, neginf=-1e5, out=param.grad)
        optimizer.step()
        stepped = net.model.enc.weight.detach().clone()
        update_ema(ema, net, cur_nimg, batch_size, ema_halflife, ema_rampup_ratio)
        kept.append(torch.equal(stepped, net.model.enc.weight.detach()))
        cur_nimg += batch_size
    return kept


def run():
    torch.manual_seed(0)
    return training_loop(EDMPrecond(), torch.randn(64, 6) * 0.5)


def verify(kept):
    assert not any(kept)


TRUTH = Truth(
    fault="lerp_ writes the average into the trained parameters (detach() shares their memory)",
    names=("lerp_",),
    repair=("p_ema.copy_(p_net.detach().lerp(p_ema, ema_beta))",),
)
