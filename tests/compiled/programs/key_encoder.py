"""Contrastive vision: queries against keys of a slowly moving encoder and a queue of earlier keys, loss compiled."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the keys keep their graph: the key encoder gets gradients, and its average is moved by the optimizer too",
    names=("keys", "no_grad", "key_net", "detach"),
    repair=("keys = nn.functional.normalize(key_net(second), dim=-1).detach()",),
)


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
def contrast(queries, keys, queue):
    positive = (queries * keys).sum(-1, keepdim=True)
    logits = torch.cat([positive, queries @ queue.T], -1) / 0.2
    return -torch.log_softmax(logits, -1)[:, 0].mean()


def run():
    nets = nn.ModuleDict()
    nets["query"] = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 8)
    )
    nets["key"] = copy.deepcopy(nets["query"])
    query_net, key_net = (torch.compile(net, backend=BACKEND) for net in nets.values())
    optimizer = torch.optim.SGD(nets.parameters(), lr=0.1)  # also
    queue = nn.functional.normalize(torch.randn(32, 8), dim=-1)
    drift = []
    for _ in range(3):
        image = torch.randn(8, 1, 8, 8)
        first, second = image + 0.1 * torch.randn_like(image), image.flip(-1)
        queries = nn.functional.normalize(query_net(first), dim=-1)
        keys = nn.functional.normalize(key_net(second), dim=-1)  # cause
        loss = contrast(queries, keys, queue)
        optimizer.zero_grad()
        loss.backward()
        before = [p.detach().clone() for p in nets["key"].parameters()]
        optimizer.step()  # symptom
        drift.append(sum((p - b).abs().sum().item() for p, b in zip(nets["key"].parameters(), before)))
        with torch.no_grad():
            for k, q in zip(nets["key"].parameters(), nets["query"].parameters()):
                k.lerp_(q, 0.01)
            queue = torch.cat([queue[8:], keys.detach()])
    return drift


def verify(outcome):
    assert min(outcome) > 1e-4
