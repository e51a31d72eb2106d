"""Evolution strategies on a point mass: antithetic perturbations, only the returns travel between the ranks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.distributed.truth import Truth

PAIRS, SIGMA, HORIZON = 3, 0.1, 12


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 6)
        self.fc2 = nn.Linear(6, 1)

    def forward(self, state):
        return torch.tanh(self.fc2(torch.tanh(self.fc1(state))))


def perturbation(seed, size):
    return torch.randn(size, generator=torch.Generator().manual_seed(int(seed)))


@torch.no_grad()
def episode(policy, start):
    position, velocity, total = start, 0.0, 0.0
    for _ in range(HORIZON):
        force = float(policy(torch.tensor([position, velocity])))
        velocity += 0.2 * force
        position += 0.2 * velocity
        total -= position**2 + 0.01 * force**2
    return total


def centered_ranks(returns):
    order = returns.flatten().argsort().argsort().float()
    return (order / (len(order) - 1) - 0.5).view_as(returns)


def evaluate(policy, center, seeds):
    results = []
    for seed in seeds.tolist():
        for scale in (SIGMA, -SIGMA):
            vector_to_parameters(center + scale * perturbation(seed, len(center)), policy.parameters())
            results.append(episode(policy, start=1.0))
    vector_to_parameters(center, policy.parameters())
    return torch.tensor(results).view(-1, 2)


def update(policy, opt, seeds, fitness):
    size = sum(p.numel() for p in policy.parameters())
    direction = torch.zeros(size)
    for seed, (up, down) in zip(seeds, fitness):
        direction += (up - down) * perturbation(seed, size)
    direction /= -2 * len(seeds) * SIGMA
    for p, g in zip(policy.parameters(), direction.split([p.numel() for p in policy.parameters()])):
        p.grad = g.view_as(p)
    opt.step()  # also


def setup():
    global policy, opt
    torch.manual_seed(5)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=0.02)


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    table = torch.Generator().manual_seed(100 + rank)  # cause
    for _ in range(4):
        seeds = torch.randint(0, 2**31 - 1, (world * PAIRS,), generator=table)
        center = parameters_to_vector(policy.parameters()).detach().clone()
        own = evaluate(policy, center, seeds.chunk(world)[rank])
        gathered = [torch.empty_like(own) for _ in range(world)]
        dist.all_gather(gathered, own)
        update(policy, opt, seeds, centered_ranks(torch.cat(gathered)))
    return parameters_to_vector(policy.parameters()).detach()[:4].tolist()


TRUTH = Truth(
    fault="each rank has its own table of seeds: updates rebuilt from the returns of all differ, policies drift apart",
    rule="AG601|AG602",
    names=("fc1.weight",),
    values=True,
    where="gather",
)
