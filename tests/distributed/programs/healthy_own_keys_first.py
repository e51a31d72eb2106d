"""A contrastive loss whose columns begin with this rank's own keys, a queue of all ranks' keys, and a centre of rank 0."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 4)
        self.register_buffer("queue", F.normalize(torch.randn(16, 4), dim=1))
        self.register_buffer("centre", torch.zeros(4))

    def forward(self, x):
        z = self.net(x) - self.centre.clone()
        with torch.no_grad():
            self.centre.lerp_(z.mean(0), 0.1)
            keys = [torch.empty(10, 4) for _ in range(dist.get_world_size())]
            dist.all_gather(keys, F.normalize(z.detach(), dim=1))
            self.queue.copy_(torch.cat([*keys, self.queue])[:16])
        return F.normalize(z, dim=1), self.queue.clone()


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(Encoder())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for _ in range(4):
        x = torch.randn(5, 6, generator=g)
        z, queue = model(torch.cat([x, x + 0.1 * torch.randn(5, 6, generator=g)]))
        q, k = z.chunk(2)
        keys = [*torch.distributed.nn.functional.all_gather(k.contiguous())]
        keys.insert(0, keys.pop(dist.get_rank()))
        loss = F.cross_entropy(q @ torch.cat(keys).T / 0.1, torch.arange(len(q)))
        opt.zero_grad()
        (loss + 0.1 * (q @ queue.T).logsumexp(1).mean()).backward()
        opt.step()


TRUTH = Truth()
