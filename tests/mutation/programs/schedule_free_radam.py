# inlined: schedulefree.radam_schedulefree
import torch
import torch.nn.functional as F
from schedulefree.radam_schedulefree import RAdamScheduleFree
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.bn1 = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc(x), dim=1)


def train(model, optimizer):
    model.train()
    optimizer.train()
    for batch_idx in range(3):
        data, target = torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4,))
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()


def test(model, optimizer):
    model.train()
    optimizer.eval()
    with torch.no_grad():
        for batch_idx in range(2):
            model(torch.randn(4, 1, 8, 8))
    model.eval()
    with torch.no_grad():
        output = model(torch.randn(4, 1, 8, 8))
        return output.argmax(dim=1)


def run():
    model = Net()
    optimizer = RAdamScheduleFree(model.parameters(), lr=0.0025)
    for epoch in range(2):
        train(model, optimizer)
        test(model, optimizer)
    return model
