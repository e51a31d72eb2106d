"""Task arithmetic: the merged state_dict is summed in place, which rewrites the pretrained model it was taken from."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, dim=8, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 16))
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(F.relu(self.backbone(x)))


def finetune(pretrained, x, y, steps=3):
    model = copy.deepcopy(pretrained)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


@torch.no_grad()
def task_vector(pretrained, finetuned):
    base, tuned = pretrained.state_dict(), finetuned.state_dict()
    return {k: tuned[k] - base[k] for k in base}


def apply_vectors(pretrained, vectors, scale):
    """Pretrained + scale * sum of the task vectors, as a new model."""
    state = pretrained.state_dict()  # cause
    for vector in vectors:
        for k, delta in vector.items():
            state[k] += scale * delta  # also
    merged = copy.deepcopy(pretrained)
    merged.load_state_dict(state)
    return merged


def run():
    torch.manual_seed(0)
    pretrained = Classifier()
    probe = torch.randn(10, 8)
    zero_shot = pretrained(probe).detach()
    experts = []
    for task in range(2):
        x = torch.randn(32, 8)
        experts.append(finetune(pretrained, x, (x[:, task] > 0).long() + 2 * task))
    vectors = [task_vector(pretrained, e) for e in experts]
    merged = {s: apply_vectors(pretrained, vectors, s)(probe).detach() for s in (0.2, 0.4, 0.8)}
    return zero_shot, pretrained(probe).detach(), merged


def verify(outcome):
    zero_shot, now, _ = outcome
    assert not torch.allclose(zero_shot, now)


TRUTH = Truth(
    fault="+= writes into the pretrained model's own tensors; each scale is added to the last",
    names=("state_dict", "pretrained"),
    repair=("state = {k: v.clone() for k, v in pretrained.state_dict().items()}",),
)
