"""One task to many: the heads sit in a plain dict; parameters() and state_dict() know nothing of them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SharedBottom(nn.Module):
    """CTR and CVR share a bottom; before, there was a single self.head."""

    def __init__(self, fields=4, buckets=20, dim=6, tasks=("ctr", "cvr")):
        super().__init__()
        self.embed = nn.EmbeddingBag(fields * buckets, dim, mode="sum")
        self.register_buffer("offsets", torch.arange(fields) * buckets)
        self.bottom = nn.Sequential(nn.Linear(dim, 12), nn.ReLU())
        self.heads = {task: nn.Linear(12, 1) for task in tasks}  # cause

    def forward(self, ids):
        h = self.bottom(self.embed(ids + self.offsets))
        return {task: head(h).squeeze(-1) for task, head in self.heads.items()}


def click_log(size=16):
    ids = torch.randint(0, 20, (size, 4))
    click = (ids.sum(dim=1) % 2).float()
    return ids, {"ctr": click, "cvr": click * (ids[:, 0] > 10)}


def run():
    torch.manual_seed(0)
    model = SharedBottom()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    before = model.heads["cvr"].weight.detach().clone()
    for _ in range(3):
        ids, labels = click_log()
        logits = model(ids)
        loss = sum(F.binary_cross_entropy_with_logits(logits[task], labels[task]) for task in labels)
        model.zero_grad()
        loss.backward()
        optimizer.step()
    return before, model.heads["cvr"].weight, list(model.state_dict())


def verify(outcome):
    before, weight, saved = outcome
    assert weight.grad is not None and torch.equal(before, weight.detach())
    assert not any("heads" in name for name in saved)


TRUTH = Truth(
    fault="the task heads are not registered: the optimizer never moves them and their gradients are never cleared",
    names=("heads",),
    repair=("self.heads = nn.ModuleDict({task: nn.Linear(12, 1) for task in tasks})",),
)
