"""A classifier ends in a softmax and is trained with cross entropy, which applies another."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 16), nn.Linear(16, 3)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        return self.softmax(self.fc2(torch.relu(self.fc1(x))))  # cause


def run():
    torch.manual_seed(0)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(60, 4)
    y = x[:, :3].argmax(1)
    for _ in range(60):
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # also
        loss.backward()
        optimizer.step()
    return loss.item()


TRUTH = Truth(
    fault="two softmaxes",
    repair=("return self.fc2(torch.relu(self.fc1(x)))",),
)


def verify(loss):
    assert loss > 0.5
