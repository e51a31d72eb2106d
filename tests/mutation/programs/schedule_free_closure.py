# inlined: schedulefree.adamw_schedulefree_closure
import torch
import torch.nn.functional as F
from schedulefree.adamw_schedulefree_closure import AdamWScheduleFreeClosure
from torch import nn


def run():
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2))
    optimizer = AdamWScheduleFreeClosure(model.parameters(), lr=0.01, warmup_steps=2)
    losses = []
    for step in range(5):
        inputs, targets = torch.randn(8, 6), torch.randint(0, 2, (8,))

        def closure():
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = F.cross_entropy(outputs, targets)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        losses.append(loss.item())
    with torch.no_grad():
        validation = F.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 2, (4,)))
    return model, losses, validation
