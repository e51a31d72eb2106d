"""Multi-task gradient conflict: both gradient lists are the same tensors, so the cosine is always one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SharedTrunk(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, 16), nn.Tanh())
        self.depth = nn.Linear(16, 1)
        self.segment = nn.Linear(16, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(-1), self.segment(h)


def flat(grads):
    return torch.cat([g.flatten() for g in grads])


def task_gradients(losses, shared, optimizer):
    """One backward per task; collect what reaches the shared trunk."""
    collected = []
    for i, loss in enumerate(losses):
        optimizer.zero_grad(set_to_none=False)
        loss.backward(retain_graph=i + 1 < len(losses))
        collected.append([p.grad for p in shared])  # cause
    return collected


def project(a, b):
    """PCGrad: take from a what goes against b."""
    dot = (a * b).sum()
    return a - dot / b.pow(2).sum() * b if dot < 0 else a


def write_back(shared, vector):
    start = 0
    for p in shared:
        n = p.numel()
        p.grad.copy_(vector[start : start + n].view_as(p))
        start += n


def run():
    torch.manual_seed(0)
    model = SharedTrunk()
    shared = list(model.trunk.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    cosines = []
    for _ in range(3):
        x = torch.randn(12, 8)
        depth, seg = model(x)
        losses = F.mse_loss(depth, x.sum(1)), F.cross_entropy(seg, torch.randint(0, 3, (12,)))
        g_depth, g_seg = (flat(g) for g in task_gradients(losses, shared, optimizer))
        cosines.append(F.cosine_similarity(g_depth, g_seg, dim=0).item())
        write_back(shared, project(g_depth, g_seg) + project(g_seg, g_depth))
        optimizer.step()
    return cosines


def verify(outcome):
    assert all(c > 0.99999 for c in outcome)


TRUTH = Truth(
    fault="p.grad is collected without a copy; the next task's zero_grad and backward overwrite it",
    names=("trunk", "grad"),
    repair=("collected.append([p.grad.clone() for p in shared])",),
)
