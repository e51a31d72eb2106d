import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU()
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        features = self.backbone(x)
        pooled = self.pool(features).flatten(1)
        return self.head(pooled)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def train_epoch(model, optimizer, batches):
    model.train()
    total = 0.0
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def run():
    batches = [(torch.randn(4, 1, 6, 6), torch.randint(0, 3, (4,))) for _ in range(4)]
    model = Classifier()
    set_trainable(model.backbone, False)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    train_epoch(model, optimizer, batches)
    set_trainable(model.backbone, True)
    optimizer.add_param_group({"params": model.backbone.parameters(), "lr": 1e-4})
    train_epoch(model, optimizer, batches)
    return model
