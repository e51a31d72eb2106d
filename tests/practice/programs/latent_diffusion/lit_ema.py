"""Latent diffusion: LitEma strips the dots of parameter names and two parameters share one shadow."""

from contextlib import contextmanager

import torch
from torch import nn

from tests.practice.truth import Truth


class LitEma(nn.Module):
    def __init__(self, model, decay=0.9):
        super().__init__()
        self.m_name2s_name = {}
        self.register_buffer("decay", torch.tensor(decay))
        for name, p in model.named_parameters():
            if p.requires_grad:
                s_name = name.replace(".", "")  # cause
                self.m_name2s_name[name] = s_name
                self.register_buffer(s_name, p.clone().detach().data)  # also
        self.collected_params = []

    @torch.no_grad()
    def forward(self, model):
        m_param, shadow = dict(model.named_parameters()), dict(self.named_buffers())
        for key, s_name in self.m_name2s_name.items():
            shadow[s_name].sub_((1.0 - self.decay) * (shadow[s_name] - m_param[key]))

    def copy_to(self, model):
        shadow = dict(self.named_buffers())
        for name, p in model.named_parameters():
            p.data.copy_(shadow[self.m_name2s_name[name]].data)

    def store(self, parameters):
        self.collected_params = [p.clone() for p in parameters]

    def restore(self, parameters):
        for c, p in zip(self.collected_params, parameters):
            p.data.copy_(c.data)


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(2, ch), nn.SiLU(), nn.Conv1d(ch, ch, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class UNetModel(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.input_blocks = nn.ModuleList(
            nn.ModuleList([nn.Conv1d(ch, ch, 1) for _ in range(11 if i == 1 else 1)]) for i in range(12)
        )
        self.middle_block = ResBlock(ch)
        self.out = nn.Conv1d(ch, ch, 1)

    def forward(self, x, t):
        x = x + t.view(-1, 1, 1)
        for stage in self.input_blocks:
            for block in stage:
                x = x + 0.1 * torch.tanh(block(x))
        return self.out(self.middle_block(x))


class LatentDiffusion:
    def __init__(self):
        self.model = UNetModel()
        self.model_ema = LitEma(self.model)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    @contextmanager
    def ema_scope(self):
        self.model_ema.store(self.model.parameters())
        self.model_ema.copy_to(self.model)
        try:
            yield
        finally:
            self.model_ema.restore(self.model.parameters())

    def training_step(self, z):
        noise, t = torch.randn_like(z), torch.rand(len(z))
        loss = (self.model(z + t.view(-1, 1, 1) * noise, t) - noise).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.model_ema(self.model)


def run():
    torch.manual_seed(0)
    ldm = LatentDiffusion()
    for _ in range(3):
        ldm.training_step(torch.randn(4, 4, 8))
    with ldm.ema_scope(), torch.no_grad():
        blocks = ldm.model.input_blocks
        return blocks[1][10].weight.clone(), blocks[11][0].weight.clone()


def verify(outcome):
    assert torch.equal(*outcome)  # two layers that never had the same weights


TRUTH = Truth(
    fault="names without their dots collide ('1.10' and '11.0'): two parameters share one shadow",
    names=("input_blocks", "s_name"),
    repair=('s_name = name.replace(".", "_")',),
)
