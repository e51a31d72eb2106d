"""SWA: an averaged model is updated from the second epoch on, its norms are refreshed at the end, and it has no gradient."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(2, 6, 3, bias=False), nn.BatchNorm1d(6), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3))
    swa_model = AveragedModel(model)
    data = TensorDataset(torch.randn(24, 2, 8), torch.randint(3, (24,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=1)
    swa_start, losses = 2, []
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch >= swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
    update_bn(loader, swa_model)
    swa_model.eval()
    with torch.no_grad():
        correct = sum((swa_model(x).argmax(1) == y).sum().item() for x, y in loader)
    return model, swa_model, losses, correct


TRUTH = Truth()


def verify(out):
    model, swa_model, losses, correct = out
    assert swa_model.n_averaged.item() == 2 and 0 <= correct <= 24
    assert all(p.grad is None for p in swa_model.parameters())
    assert all(p.grad is not None for p in model.parameters()) and max(losses) < 100
