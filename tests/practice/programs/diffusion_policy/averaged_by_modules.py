"""Diffusion Policy: its EMA goes through the modules; without recurse=False it moves deep weights several times."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from tests.practice.truth import Truth


class EMAModel:
    def __init__(self, model, update_after_step=0, inv_gamma=1.0, power=2 / 3, max_value=0.9999):
        self.averaged_model = model
        self.averaged_model.eval()
        self.averaged_model.requires_grad_(False)
        self.update_after_step, self.inv_gamma, self.power = update_after_step, inv_gamma, power
        self.max_value, self.optimization_step = max_value, 0

    def get_decay(self, optimization_step):
        step = max(0, optimization_step - self.update_after_step - 1)
        return 0.0 if step <= 0 else min(1 - (1 + step / self.inv_gamma) ** -self.power, self.max_value)

    @torch.no_grad()
    def step(self, new_model):
        decay = self.get_decay(self.optimization_step)
        for module, ema_module in zip(new_model.modules(), self.averaged_model.modules()):
            for param, ema_param in zip(module.parameters(), ema_module.parameters()):  # cause
                if isinstance(module, _BatchNorm) or not param.requires_grad:
                    ema_param.copy_(param)
                else:
                    ema_param.mul_(decay)
                    ema_param.add_(param, alpha=1 - decay)
        self.optimization_step += 1
        return decay


class Conv1dBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.Mish())

    def forward(self, x):
        return self.block(x)


class ConditionalUnet1D(nn.Module):
    def __init__(self, action_dim=2, cond_dim=6, width=8):
        super().__init__()
        self.cond = nn.Sequential(nn.Linear(cond_dim + 1, width), nn.Mish())
        self.down, self.up = Conv1dBlock(action_dim, width), Conv1dBlock(width, width)
        self.final_conv = nn.Conv1d(width, action_dim, 1)

    def forward(self, sample, timestep, global_cond):
        c = self.cond(torch.cat([global_cond, timestep[:, None] / 50], 1))
        return self.final_conv(self.up(self.down(sample) + c[:, :, None]))


def compute_loss(model, actions, obs):
    t = torch.randint(0, 50, (len(actions),))
    a = torch.cos(t / 50 * 1.5)[:, None, None]
    noise = torch.randn_like(actions)
    return F.mse_loss(model(a * actions + (1 - a**2).sqrt() * noise, t, obs), noise)


def run():
    torch.manual_seed(0)
    model = ConditionalUnet1D()
    ema = EMAModel(copy.deepcopy(model))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    expected = [p.detach().clone() for p in model.parameters()]
    for _ in range(5):
        loss = compute_loss(model, torch.randn(8, 2, 16), torch.randn(8, 6))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        decay = ema.step(model)
        expected = [decay * e + (1 - decay) * p.detach() for e, p in zip(expected, model.parameters())]
    return [(p - e).abs().max().item() for p, e in zip(ema.averaged_model.parameters(), expected)]


def verify(error):
    assert max(error) > 1e-4, error


TRUTH = Truth(
    fault="each module averages the parameters of its children too: those at depth n move n times in one step",
    names=("ema_param",),
    repair=("for param, ema_param in zip(module.parameters(recurse=False), ema_module.parameters(recurse=False)):",),
)
