"""Manual data parallel loop on functional collectives."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn as nn

from tests.distributed.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        return x + self.fc2(self.fc1(x).relu())


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(ResBlock(6), ResBlock(6), nn.Linear(6, 1))
    for p in model.parameters():
        p.data.copy_(funcol.broadcast(p.data, 0, dist.group.WORLD))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(21 + dist.get_rank())


def average_gradients(module):
    for p in module.parameters():
        if p.grad is not None:
            g = funcol.all_reduce(p.grad, "sum", dist.group.WORLD)  # also
            g = funcol.wait_tensor(g)
            p.grad.div_(dist.get_world_size())  # cause


def run():
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = nn.functional.huber_loss(model(x), x.norm(dim=1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        average_gradients(model)
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="the functional all_reduce returns a new tensor that nobody writes back",
    names=("0.fc1.weight", "0.fc2.weight", "1.fc1.weight", "2.weight", "2.bias"),
)
