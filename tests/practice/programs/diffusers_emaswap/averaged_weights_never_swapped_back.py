"""diffusers-like: validation copies the EMA into the model; when there is nothing to log it returns before restore()."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EMAModel:
    def __init__(self, parameters, decay=0.9):
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.decay, self.temp_stored_params = decay, None

    @torch.no_grad()
    def step(self, parameters):
        for s, p in zip(self.shadow_params, parameters):
            s.sub_((1 - self.decay) * (s - p))

    def store(self, parameters):
        self.temp_stored_params = [p.detach().clone() for p in parameters]

    def copy_to(self, parameters):
        for s, p in zip(self.shadow_params, list(parameters)):
            p.data.copy_(s)

    def restore(self, parameters):
        for c, p in zip(self.temp_stored_params, parameters):
            p.data.copy_(c)
        self.temp_stored_params = None


class DDPMScheduler:
    def __init__(self, steps=20):
        self.steps = steps
        self.alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-3, 0.2, steps), 0)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t].unsqueeze(1)
        return a.sqrt() * x + (1 - a).sqrt() * noise


class UNetModel(nn.Module):
    def __init__(self, dim=6, steps=20):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.conv_in, self.conv_out = nn.Linear(dim, 16), nn.Linear(16, dim)

    def forward(self, x, t):
        return self.conv_out((self.conv_in(x) + self.time(t)).tanh())


@torch.no_grad()
def log_validation(unet, ema, scheduler, tracker):
    unet.eval()
    ema.store(unet.parameters())
    ema.copy_to(unet.parameters())  # also
    x = torch.randn(4, 6)
    for t in reversed(range(0, scheduler.steps, 5)):
        x = x - 0.1 * unet(x, torch.full((4,), t))
    unet.train()
    if tracker is None:
        return x  # cause
    tracker.append(x)
    ema.restore(unet.parameters())
    return x


def run():
    torch.manual_seed(0)
    unet, scheduler = UNetModel(), DDPMScheduler()
    ema = EMAModel(unet.parameters())
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-2)
    jumps = []
    for global_step in range(4):
        clean, noise = torch.randn(8, 6), torch.randn(8, 6)
        t = torch.randint(0, scheduler.steps, (8,))
        loss = F.mse_loss(unet(scheduler.add_noise(clean, noise, t), t), noise)
        loss.backward()
        nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ema.step(unet.parameters())
        trained = unet.conv_in.weight.detach().clone()
        if global_step % 2 == 1:
            log_validation(unet, ema, scheduler, tracker=None)
        jumps.append((unet.conv_in.weight.detach() - trained).abs().max().item())
    return jumps


def verify(outcome):
    assert outcome[0] == outcome[2] == 0.0
    assert outcome[1] > 0.0 and outcome[3] > 0.0


TRUTH = Truth(
    fault="without a tracker the validation returns before ema.restore: training goes on from the averaged weights, Adam's moments do not",
    names=("copy_to",),
    repair=("ema.restore(unet.parameters())\nreturn x",),
)
