"""The loss is made of the predicted classes, and told to require grad when backward complained."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 6, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(6, 4, k) for k in (2, 3))
        self.fc = nn.Linear(8, 3)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.fc(torch.cat([c(x).relu().amax(-1) for c in self.convs], -1))


def train(model, loader, optimizer, criterion):
    total = 0.0
    for ids, labels in loader:
        optimizer.zero_grad()
        outputs = model(ids)
        _, predicted = torch.max(outputs, 1)  # also
        loss = criterion(predicted.float(), labels.float())  # cause
        if not loss.requires_grad:
            loss.requires_grad = True  # also
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def run():
    torch.manual_seed(0)
    model = TextCNN()
    optimizer = torch.optim.Adam(model.parameters())
    loader = [(torch.randint(1, 30, (4, 8)), torch.randint(3, (4,))) for _ in range(3)]
    train(model, loader, optimizer, nn.MSELoss())
    return model.fc.weight.grad


TRUTH = Truth(
    fault="the loss is made of class numbers",
    repair=("loss = criterion(outputs, nn.functional.one_hot(labels, 3).float())",),
)


def verify(grad):
    assert grad is None
