import torch
from torch import nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 16), nn.ReLU())
        self.heads = nn.ModuleDict({"depth": nn.Linear(16, 1), "label": nn.Linear(16, 3)})
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        features = self.trunk(x)
        return {name: head(features) for name, head in self.heads.items()}


def run():
    model = MultiTask()
    optimizer = torch.optim.Adam(
        [
            {"params": model.trunk.parameters(), "lr": 1e-3},
            {"params": model.heads.parameters(), "lr": 1e-2},
            {"params": [model.log_vars]},
        ],
        lr=1e-3,
    )
    meters = {"depth": 0.0, "label": 0.0}
    for step in range(5):
        x, depth, label = torch.randn(8, 10), torch.randn(8, 1), torch.randint(0, 3, (8,))
        out = model(x)
        losses = torch.stack([F.l1_loss(out["depth"], depth), F.cross_entropy(out["label"], label)])
        precision = torch.exp(-model.log_vars)
        total = (precision * losses + model.log_vars).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        for i, name in enumerate(meters):
            meters[name] += losses[i].item()
    return model, meters
