"""Image-text contrastive training with embeddings gathered from all ranks."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(12, 6)
        self.text = nn.Linear(9, 6)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, img, txt):
        return F.normalize(self.image(img), dim=-1), F.normalize(self.text(txt), dim=-1), self.scale.exp()


def gather(t):
    out = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(out, t.contiguous())  # cause
    return torch.cat(out)


def loss_fn(a, b, scale):
    all_a, all_b = gather(a), gather(b)
    logits = scale * all_a @ all_b.t()
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def setup():
    global model, opt, start
    torch.manual_seed(0)
    model = DDP(Towers(), find_unused_parameters=True)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    torch.manual_seed(40 + dist.get_rank())
    for _ in range(3):
        a, b, s = model(torch.randn(4, 12), torch.randn(4, 9))
        loss = loss_fn(a, b, s)
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG105",
    fault="all_gather cuts the graph: the towers get no gradient, only the scale does",
    names=("image.weight", "image.bias", "text.weight", "text.bias"),
    where="own",
)
