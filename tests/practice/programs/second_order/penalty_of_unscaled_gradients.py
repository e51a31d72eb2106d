"""A gradient penalty under a scaler: the gradients are divided by the scale before their norm enters the loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for _ in range(3):
        x, y = torch.randn(12, 5), torch.randn(12, 1)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(x).float(), y)
        scaled = torch.autograd.grad(scaler.scale(loss), list(net.parameters()), create_graph=True)
        inverse = 1.0 / scaler.get_scale()
        grads = [p * inverse for p in scaled]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            norm = sum(g.pow(2).sum() for g in grads).sqrt()
            loss = loss + 0.1 * norm
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    return net


TRUTH = Truth()
