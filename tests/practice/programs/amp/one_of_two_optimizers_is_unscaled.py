"""Two optimizers, one scaler: the gradients of the decoder are clipped while they are still scaled."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 12), nn.Linear(12, 6)
    opt_e = torch.optim.Adam(encoder.parameters(), 1e-3)
    opt_d = torch.optim.SGD(decoder.parameters(), 1e-1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    moves = []
    for _ in range(3):
        x = torch.randn(10, 6)
        before = decoder.weight.detach().clone()
        opt_e.zero_grad()
        opt_d.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (decoder(encoder(x).relu()) - x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt_e)
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)  # cause
        scaler.step(opt_e)
        scaler.step(opt_d)
        scaler.update()
        moves.append((decoder.weight - before).norm().item())
    return moves


def verify(moves):
    assert max(moves) < 1e-3


TRUTH = Truth(
    fault="the decoder's gradients are clipped before they are unscaled",
    names=("unscale_", "decoder"),
    repair=("scaler.unscale_(opt_d)\nnn.utils.clip_grad_norm_(decoder.parameters(), 1.0)",),
)
