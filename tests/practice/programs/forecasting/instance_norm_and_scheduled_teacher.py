"""A forecaster with instance statistics without grad, teacher forcing by a coin, and a clone of what is fed back."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RevIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        self.mean = x.mean(1, keepdim=True).detach()
        self.std = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt().detach()
        return (x - self.mean) / self.std * self.gain + self.shift

    def restore(self, y):
        return (y - self.shift) / (self.gain + 1e-8) * self.std[..., 0] + self.mean[..., 0]


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.norm = RevIN()
        self.encoder = nn.LSTM(1, hidden, batch_first=True)
        self.cell = nn.LSTMCell(1, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, horizon, teacher=None, share=0.0):
        x = self.norm(x)
        _, (h, c) = self.encoder(x)
        h, c = h[0], c[0]
        step, out = x[:, -1], []
        for t in range(horizon):
            h, c = self.cell(step, (h, c))
            prediction = self.head(h)
            out.append(prediction)
            forced = teacher is not None and random.random() < share
            step = teacher[:, t] if forced else prediction
        return self.norm.restore(torch.cat(out, 1))


def run():
    torch.manual_seed(0)
    random.seed(0)
    model = Forecaster()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    for epoch in range(3):
        series = torch.randn(16, 18, 1).cumsum(1)
        past, future = series[:, :14], series[:, 14:]
        model.train()
        opt.zero_grad(set_to_none=True)
        loss = F.huber_loss(model(past, 4, future, 1 - epoch / 3), future.squeeze(-1))
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        opt.step()
        model.eval()
        with torch.inference_mode():
            validation = F.l1_loss(model(past, 4), future.squeeze(-1))
        plateau.step(validation.item())


TRUTH = Truth()
