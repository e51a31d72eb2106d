import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn


def run():
    model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    loader = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(2)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    swa_model = AveragedModel(model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    swa_scheduler = SWALR(optimizer, swa_lr=0.05)
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            optimizer.step()
        if epoch >= 2:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
    update_bn((x for x, _ in loader), swa_model)
    swa_model.eval()
    with torch.no_grad():
        preds = swa_model(loader[0][0])
    return model, swa_model, preds
