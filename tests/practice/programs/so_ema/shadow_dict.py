"""Small regressor with EMA: the average is computed into a dict of the state, which is never put back into the shadow model."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class ModelEma:
    def __init__(self, model, decay=0.9):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        shadow = self.module.state_dict()
        current = model.state_dict()
        for name, value in current.items():
            if value.dtype.is_floating_point:
                shadow[name] = self.decay * shadow[name] + (1 - self.decay) * value  # cause
            else:
                shadow[name].copy_(value)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, 16),
            nn.BatchNorm1d(16),
            nn.GELU(),
            nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.layers(x)


def run():
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    y = x.pow(2).sum(1, keepdim=True)
    model = Net()
    ema = ModelEma(model)
    start = {k: v.clone() for k, v in ema.module.state_dict().items()}
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        for i in range(0, 32, 16):
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(model(x[i : i + 16]), y[i : i + 16])
            loss.backward()
            opt.step()
            ema.update(model)
    with torch.no_grad():
        val = nn.functional.mse_loss(ema.module(x), y)
    return start, ema.module.state_dict(), val


def verify(outcome):
    start, now, _ = outcome
    assert torch.equal(start["layers.0.weight"], now["layers.0.weight"])
    assert torch.equal(start["layers.3.bias"], now["layers.3.bias"])
    assert now["layers.1.num_batches_tracked"] == 4


TRUTH = Truth(
    fault="the EMA is bound to the keys of a state_dict and not copied into the shadow's tensors, so the EMA model keeps its first weights",
    names=("ema",),
    repair=("shadow[name].mul_(self.decay).add_(value, alpha=1 - self.decay)",),
)
