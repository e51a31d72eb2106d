"""A deep net with an auxiliary head that takes part in every second step and none at all after the first epoch."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Inception(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.low = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.high = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
        self.fc, self.aux = nn.Linear(16, classes), nn.Linear(16, classes)

    def forward(self, x, use_aux=False):
        h = self.low(x)
        aux = self.aux(h) if self.training and use_aux else None
        return self.fc(self.high(h)), aux


def run():
    torch.manual_seed(0)
    model = Inception()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    aux_seen, aux_weights, losses = [], [], []
    for epoch in range(2):
        for step in range(4):
            x, y = torch.randn(8, 8), torch.randint(3, (8,))
            logits, aux = model(x, use_aux=epoch == 0 and step % 2 == 0)
            loss = F.cross_entropy(logits, y)
            if aux is not None:
                loss = loss + 0.3 * F.cross_entropy(aux, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            aux_seen.append(model.aux.weight.grad is not None)
            aux_weights.append(model.aux.weight.detach().clone())
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits, aux = model(torch.randn(2, 8), use_aux=True)
    return model, aux_seen, aux_weights, losses, aux


TRUTH = Truth()


def verify(out):
    model, aux_seen, aux_weights, losses, aux = out
    assert aux_seen == [True, False, True, False] + [False] * 4 and aux is None
    assert torch.equal(aux_weights[-1], aux_weights[2]) and max(losses) < 100
    assert all(p.grad.abs().sum() > 0 for n, p in model.named_parameters() if not n.startswith("aux"))
