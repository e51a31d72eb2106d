"""Diffusion: validation swaps the averaged weights in and leaves early without putting the trained ones back."""

from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EMAModel:
    def __init__(self, parameters, decay=0.9999, min_decay=0.0):
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.temp_stored_params = None
        self.decay, self.min_decay, self.optimization_step = decay, min_decay, 0

    def get_decay(self, step):
        return max(min((1 + step) / (10 + step), self.decay), self.min_decay)

    @torch.no_grad()
    def step(self, parameters):
        self.optimization_step += 1
        one_minus_decay = 1 - self.get_decay(self.optimization_step)
        for s_param, param in zip(self.shadow_params, parameters):
            if param.requires_grad:
                s_param.sub_(one_minus_decay * (s_param - param))
            else:
                s_param.copy_(param)

    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters):
            param.data.copy_(s_param.data)

    def store(self, parameters):
        self.temp_stored_params = [param.detach().clone() for param in parameters]

    def restore(self, parameters):
        if self.temp_stored_params is None:
            raise RuntimeError("This ExponentialMovingAverage has no `store()`ed weights to `restore()`")
        for c_param, param in zip(self.temp_stored_params, parameters):
            param.data.copy_(c_param.data)
        self.temp_stored_params = None


class Denoiser(nn.Module):
    def __init__(self, dim=8, hidden=24, steps=20):
        super().__init__()
        self.temb = nn.Embedding(steps, hidden)
        self.inp, self.mid, self.out = nn.Linear(dim, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.temb(t))
        return self.out(F.silu(self.mid(h)) + h)


class Pipeline:
    def __init__(self, unet, steps=20):
        self.unet, self.steps = unet, steps
        self.betas = torch.linspace(1e-3, 0.1, steps)
        self.alphas_cumprod = torch.cumprod(1 - self.betas, 0)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t][:, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise

    @torch.no_grad()
    def __call__(self, n, dim=8, stride=5):
        x = torch.randn(n, dim)
        for t in range(self.steps - 1, -1, -stride):
            a = self.alphas_cumprod[t]
            eps = self.unet(x, torch.full((n,), t))
            x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-3, 3)
            prev = self.alphas_cumprod[max(t - stride, 0)]
            x = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
        return x


def log_validation(pipeline, unet, ema, args):
    if args.use_ema:
        ema.store(unet.parameters())
        ema.copy_to(unet.parameters())
    unet.eval()
    images = pipeline(args.num_validation_images)
    unet.train()
    if not args.report_to:
        return images  # cause
    tracker = {name: images for name in args.report_to}
    if args.use_ema:
        ema.restore(unet.parameters())
    return tracker


def run():
    torch.manual_seed(0)
    args = SimpleNamespace(use_ema=True, report_to=[], num_validation_images=2, validation_steps=2, lr=1e-2)
    unet = Denoiser()
    pipeline = Pipeline(unet)
    ema = EMAModel(unet.parameters())
    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.lr)
    kept = []
    for global_step in range(1, 5):
        clean, t = torch.randn(16, 8), torch.randint(0, 20, (16,))
        noise = torch.randn_like(clean)
        loss = F.mse_loss(unet(pipeline.add_noise(clean, noise, t), t), noise)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        ema.step(unet.parameters())
        if global_step % args.validation_steps == 0:
            trained = unet.mid.weight.detach().clone()
            log_validation(pipeline, unet, ema, args)
            kept.append(torch.equal(trained, unet.mid.weight.detach()))
    return kept


def verify(kept):
    assert not any(kept)


TRUTH = Truth(
    fault="without a tracker the EMA weights are not taken out again; training goes on from the average",
    names=("copy_to", "restore"),
    repair=("if args.use_ema:\n    ema.restore(unet.parameters())\nreturn images",),
)
