"""An exported model is fine-tuned; its patch embedding was written under no_grad."""

import torch
import torch.nn.functional as F
from torch import nn

RULES = "AG102 AG301"
NAMES = ("patch",)


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, stride=4)
        self.mix, self.head = nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, images):
        with torch.no_grad():  # cause
            tokens = self.patch(images).flatten(2).transpose(1, 2)
        return self.head(F.gelu(self.mix(tokens)).mean(1))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.export.export(Vision(), (torch.randn(2, 3, 8, 8),)).module()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def run():
    for _ in range(2):
        loss = F.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.randint(5, (2,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
