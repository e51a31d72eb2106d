"""A moving average of the weights without no_grad: each shadow drags a graph that grows with every step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EMAModel:
    """In the manner of diffusers."""

    def __init__(self, parameters, decay=0.99, min_decay=0.0, inv_gamma=1.0, power=2 / 3):
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.decay, self.min_decay, self.inv_gamma, self.power = decay, min_decay, inv_gamma, power
        self.optimization_step = 0

    def get_decay(self):
        step = max(0, self.optimization_step - 1)
        if step <= 0:
            return 0.0
        return max(min(1 - (1 + step / self.inv_gamma) ** -self.power, self.decay), self.min_decay)

    def step(self, parameters):
        self.optimization_step += 1
        decay = self.get_decay()
        for i, param in enumerate(parameters):
            self.shadow_params[i] = decay * self.shadow_params[i] + (1 - decay) * param  # cause

    def copy_to(self, parameters):
        for s_param, param in zip(self.shadow_params, parameters):
            param.data.copy_(s_param.data)


class DDPMScheduler:
    def __init__(self, steps=50):
        self.alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps), dim=0)
        self.steps = steps

    def add_noise(self, sample, noise, t):
        a = self.alphas_cumprod[t].view(-1, 1, 1, 1)
        return a.sqrt() * sample + (1 - a).sqrt() * noise


class UNet2DModel(nn.Module):
    def __init__(self, ch=6, steps=50):
        super().__init__()
        self.time = nn.Embedding(steps, ch)
        self.conv_in, self.conv_mid = nn.Conv2d(1, ch, 3, padding=1), nn.Conv2d(ch, ch, 3, padding=1)
        self.norm, self.conv_out = nn.GroupNorm(2, ch), nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.conv_in(x) + self.time(t)[:, :, None, None])
        return self.conv_out(F.silu(self.norm(h + self.conv_mid(h))))


def depth(tensor):
    """How many nodes lie above each other in the graph."""
    seen, level = set(), {tensor.grad_fn} if tensor.grad_fn else set()
    n = 0
    while level:
        n += 1
        seen |= level
        level = {f for node in level for f, _ in node.next_functions if f is not None} - seen
    return n


def main(steps=4):
    model, scheduler = UNet2DModel(), DDPMScheduler()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ema = EMAModel(model.parameters())
    depths = []
    for _ in range(steps):
        clean, noise = torch.randn(4, 1, 8, 8), torch.randn(4, 1, 8, 8)
        t = torch.randint(0, scheduler.steps, (4,))
        loss = F.mse_loss(model(scheduler.add_noise(clean, noise, t), t), noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ema.step(model.parameters())
        depths.append(depth(ema.shadow_params[0]))
    return depths


def run():
    torch.manual_seed(0)
    return main()


def verify(outcome):
    assert outcome == sorted(set(outcome)) and outcome[0] > 0, outcome


TRUTH = Truth(
    fault="the shadow parameters are computed with gradient: their graph, and the memory, grow with every step",
    names=("shadow_params",),
    repair=("self.shadow_params[i] = decay * self.shadow_params[i] + (1 - decay) * param.detach()",),
)
