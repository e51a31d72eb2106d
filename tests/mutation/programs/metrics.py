import torch
import torch.nn.functional as F
import torchmetrics
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.bn = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.bn(self.body(x))
        x = F.elu(x)
        return self.head(x)


def run():
    model = Net()
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)
    mean_loss = torchmetrics.MeanMetric()
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    for step in range(4):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy.update(logits.detach(), y)
        mean_loss.update(loss.detach())
    return model, accuracy.compute(), mean_loss.compute()
