"""Two-phase fine-tuning: layers frozen in phase two go on moving, because their zeroed gradients keep Adam's momentum alive."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RegressionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(5, 20), nn.ELU(), nn.Linear(20, 20), nn.ELU())
        self.regressor = nn.Linear(20, 2)

    def forward(self, x):
        return self.regressor(self.features(x))


class Trainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.L1Loss()

    def step(self, x, y):
        # a non-None gradient is wanted by the logger
        self.optimizer.zero_grad(set_to_none=False)  # also
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, data):
        return [self.step(x, y) for x, y in data]

    def freeze(self, module):
        for p in module.parameters():
            p.requires_grad_(False)  # cause


def batches(n, shift):
    out = []
    for _ in range(n):
        x = torch.randn(16, 5)
        out.append((x, torch.stack([x.sum(1) + shift, x[:, 0] - shift], 1)))
    return out


def run():
    torch.manual_seed(21)
    model = RegressionNet()
    trainer = Trainer(model)
    trainer.fit(batches(3, shift=0.0))
    trainer.freeze(model.features)
    frozen = {k: v.clone() for k, v in model.features.state_dict().items()}
    trainer.fit(batches(3, shift=1.0))
    return {k: not torch.equal(frozen[k], v) for k, v in model.features.state_dict().items()}


def verify(changed):
    assert all(changed.values()), changed


TRUTH = Truth(
    fault="the frozen parameters keep a gradient of zeros (not None), so Adam still steps them by their momentum",
    names=("features",),
    repair=("p.requires_grad_(False)\np.grad = None",),
)
