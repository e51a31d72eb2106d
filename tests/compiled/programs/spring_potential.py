"""Physics: a spring potential is fitted to accelerations with functional gradients and a compiled functional update."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the parameters require grad: each functional update hangs on the graph of the one before, and memory grows",
    names=("named_parameters", "params", "update", "velocity"),
    repair=("params = {name: p.detach() for name, p in net.named_parameters()}",),
)


class Potential(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.Softplus(), nn.Linear(width, 1))

    def forward(self, q):
        return self.body(q).squeeze(-1)


def trajectories(n):
    q = torch.randn(n, 2)
    return q, -torch.tensor([1.0, 4.0]) * q


def depth_of(tensor):
    node, depth = tensor.grad_fn, 0
    seen = set()
    while node is not None:
        depth, follow = depth + 1, [n for n, _ in node.next_functions if n is not None and n not in seen]
        seen.add(node)
        node = follow[0] if follow else None
    return depth


def setup():
    torch.manual_seed(0)


def run():
    net = Potential()

    def energy(params, q):
        return functional_call(net, params, (q,))

    def objective(params, q, a):
        force = vmap(grad(energy, argnums=1), in_dims=(None, 0))(params, q)
        return (-force - a).square().mean()

    @torch.compile(backend=BACKEND)
    def update(params, velocity, q, a):
        grads = grad(objective)(params, q, a)
        velocity = {name: 0.9 * velocity[name] + grads[name] for name in params}
        return {name: p - 0.02 * velocity[name] for name, p in params.items()}, velocity

    params = dict(net.named_parameters())  # cause
    velocity = {name: torch.zeros_like(p) for name, p in params.items()}
    depths = []
    for _ in range(5):
        params, velocity = update(params, velocity, *trajectories(16))  # symptom
        depths.append(depth_of(params["body.0.weight"]))
    with torch.no_grad():
        net.load_state_dict(params)
    return depths


def verify(outcome):
    assert outcome[-1] > outcome[0] > 0
