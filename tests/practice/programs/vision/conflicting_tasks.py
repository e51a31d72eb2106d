"""Vision: PCGrad takes a gradient per task from one graph, projects them and writes p.grad by hand; all right."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MultiHead(nn.Module):
    def __init__(self, inp=12, width=16):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(inp, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.heads = nn.ModuleDict(
            {"depth": nn.Linear(width, 1), "segment": nn.Linear(width, 3), "normal": nn.Linear(width, 3)}
        )

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def losses(out, target):
    return [
        F.l1_loss(out["depth"].squeeze(1), target["depth"]),
        F.cross_entropy(out["segment"], target["segment"]),
        -F.cosine_similarity(out["normal"], target["normal"]).mean(),
    ]


class PCGrad:
    def __init__(self, optimizer, shared):
        self.optimizer, self.shared = optimizer, list(shared)
        self.conflicts = 0

    def backward(self, parts):
        each = [torch.autograd.grad(loss, self.shared, retain_graph=True) for loss in parts]
        flat = torch.stack([torch.cat([g.flatten() for g in grads]) for grads in each])
        projected = flat.clone()
        for i in range(len(parts)):
            for j in torch.randperm(len(parts)).tolist():
                dot = projected[i] @ flat[j]
                if i != j and dot < 0:
                    self.conflicts += 1
                    projected[i] -= dot / flat[j].pow(2).sum() * flat[j]
        self.optimizer.zero_grad()
        sum(parts).backward()  # for the heads; what it leaves in the trunk is replaced
        merged, start = projected.sum(0), 0
        for p in self.shared:
            p.grad.copy_(merged[start : start + p.numel()].view_as(p))
            start += p.numel()
        return flat, merged

    def step(self):
        self.optimizer.step()


def batch(n=16):
    return torch.randn(n, 12), {
        "depth": torch.rand(n),
        "segment": torch.randint(0, 3, (n,)),
        "normal": F.normalize(torch.randn(n, 3), dim=1),
    }


def run():
    torch.manual_seed(0)
    model = MultiHead()
    pcgrad = PCGrad(torch.optim.Adam(model.parameters(), lr=1e-2), model.trunk.parameters())
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    no_harm = []
    for _ in range(3):
        x, target = batch()
        flat, merged = pcgrad.backward(losses(model(x), target))
        no_harm.append(torch.equal(torch.cat([p.grad.flatten() for p in pcgrad.shared]), merged))
        pcgrad.step()
    return no_harm, pcgrad.conflicts, {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    no_harm, conflicts, same = outcome
    assert all(no_harm) and conflicts > 0
    assert not any(same.values())


TRUTH = Truth()
