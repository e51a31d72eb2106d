"""DDP with a hook that quantises each bucket before it is reduced."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

LEVELS = 127


class Keyword(nn.Module):
    """Spotting of keywords in a spectrogram."""

    def __init__(self, mels=8, classes=5):
        super().__init__()
        self.conv = nn.Conv1d(mels, 12, 3, padding=1)
        self.gru = nn.GRU(12, 8, batch_first=True)
        self.head = nn.Linear(8, classes)

    def forward(self, spec):
        h = torch.relu(self.conv(spec)).transpose(1, 2)
        return self.head(self.gru(h)[0][:, -1])


def quantise(tensor, scale):
    return (tensor / scale).round().clamp(-LEVELS, LEVELS).to(torch.int32)


def quantised_all_reduce(group, bucket):
    grad = bucket.buffer()
    scale = grad.abs().max().clamp(min=1e-12) / LEVELS  # cause
    work = dist.all_reduce(quantise(grad, scale), group=group, async_op=True)  # also

    def restore(future):
        total = future.value()[0]
        return total.to(grad.dtype) * scale / group.size()  # also

    return work.get_future().then(restore)


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(Keyword())
    model.register_comm_hook(dist.group.WORLD, quantised_all_reduce)  # also
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(11 + dist.get_rank())


def batch():
    loudness = torch.rand(6, 1, 1, generator=g) * 2
    return loudness * torch.randn(6, 8, 10, generator=g), torch.randint(0, 5, (6,), generator=g)


def run():
    model.train()
    for _ in range(4):
        spec, label = batch()
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(spec), label)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
    return [round(p.norm().item(), 5) for p in model.parameters()]


TRUTH = Truth(
    fault="integers quantised with a scale of each rank are summed, and restored with the rank's own scale: gradients differ",
    rule="AG601",
    names=("head.weight",),
    values=True,
    where="any",
)
