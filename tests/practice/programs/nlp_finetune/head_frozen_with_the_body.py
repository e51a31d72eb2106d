"""The new head is put in before everything is frozen."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(30, 8), nn.Flatten(), nn.Linear(40, 16), nn.Tanh())
        self.fc = nn.Linear(16, 10)

    def forward(self, ids):
        return self.fc(self.encoder(ids))


def run():
    torch.manual_seed(0)
    model = Classifier()
    model.fc = nn.Linear(16, 2)
    for p in model.parameters():
        p.requires_grad = False  # cause
    opt = torch.optim.AdamW(model.fc.parameters(), 1e-3)
    loss = nn.functional.cross_entropy(model(torch.randint(30, (4, 5))), torch.randint(2, (4,)))
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()
    return model


TRUTH = Truth(
    fault="the head is frozen too",
    raises="element 0 of tensors does not require grad and does not have a grad_fn",
    names=("fc",),
    repair=("p.requires_grad = p.shape[0] == 2",),
)
