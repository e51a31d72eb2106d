"""AMP notebook: gradients are clipped while they still carry the loss scale, so the true gradient is cut to nothing."""

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

from tests.practice.truth import Truth


class CFG:
    seed = 2024
    lr = 1e-2
    max_grad_norm = 1.0
    steps = 4
    init_scale = 2.0**12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv1d(2, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(8, 8, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.cnn(x))


def train_fn(batches, model, criterion, optimizer, scaler):
    model.train()
    norms = []
    for x, y in batches:
        with autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CFG.max_grad_norm)  # cause
        scaler.step(optimizer)
        scaler.update()
        # what the optimizer has seen (the scaler unscales in place)
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())
        optimizer.zero_grad()
    return norms


def run():
    torch.manual_seed(CFG.seed)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=CFG.lr, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=CFG.init_scale)
    batches = [(torch.randn(8, 2, 10), torch.randint(0, 4, (8,))) for _ in range(CFG.steps)]
    return train_fn(batches, model, nn.CrossEntropyLoss(), optimizer, scaler)


def verify(norms):
    assert max(norms) <= 1.01 * CFG.max_grad_norm / CFG.init_scale, norms


TRUTH = Truth(
    fault="clip_grad_norm_ works on scaled gradients, as scaler.unscale_ was not called before, so every step is about 4096 times too small",
    names=("unscale_",),
    repair=("scaler.unscale_(optimizer)\ntorch.nn.utils.clip_grad_norm_(model.parameters(), CFG.max_grad_norm)",),
)
