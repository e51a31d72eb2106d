"""Two models are trained, one is wrapped."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global encoder, decoder, opt_e, opt_d
    torch.manual_seed(0)
    encoder = DDP(nn.Linear(8, 3))
    decoder = nn.Linear(3, 8)
    opt_e = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(decoder.parameters(), lr=1e-3)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(4, 8)
        loss = F.mse_loss(decoder(encoder(x)), x)  # cause
        for o in (opt_e, opt_d):
            o.zero_grad()
        loss.backward()  # also
        opt_e.step()
        opt_d.step()  # also


TRUTH = Truth(fault="the decoder is never reduced", names=("decoder.weight",), rule="AG601")
