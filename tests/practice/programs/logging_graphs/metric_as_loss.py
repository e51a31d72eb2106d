"""torchmetrics: the metric is taken as the loss, but compute() is of numbers that update() took without a graph."""

import torch
from torch import nn
from torchmetrics import MeanSquaredError, MetricCollection
from torchmetrics.regression import MeanAbsoluteError

from tests.practice.truth import Truth


class SuperResolution(nn.Module):
    def __init__(self, ch=8, factor=2):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.PReLU(), nn.Conv2d(ch, factor**2, 3, padding=1))
        self.shuffle = nn.PixelShuffle(factor)

    def forward(self, low):
        base = nn.functional.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)
        return base + self.shuffle(self.body(low))


class Engine:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.mse = MeanSquaredError()
        self.report = MetricCollection({"mae": MeanAbsoluteError(), "rmse": MeanSquaredError(squared=False)})

    def train_batch(self, low, high):
        pred = self.model(low)
        self.mse.reset()
        self.mse.update(pred, high)  # also
        loss = self.mse.compute()  # cause
        self.opt.zero_grad()
        loss.backward()  # symptom
        self.opt.step()
        self.report.update(pred.detach(), high)
        return loss.item()

    def epoch(self, data):
        losses = [self.train_batch(*pair) for pair in data]
        scores = {k: round(v.item(), 4) for k, v in self.report.compute().items()}
        self.report.reset()
        return sum(losses) / len(losses), scores


def run():
    torch.manual_seed(0)
    high = torch.rand(4, 1, 8, 8)
    low = nn.functional.avg_pool2d(high, 2)
    engine = Engine(SuperResolution())
    for epoch in range(2):
        print(epoch, engine.epoch(list(zip(low.split(2), high.split(2)))))
    return engine.model


TRUTH = Truth(
    fault="a metric's compute() has no graph to the predictions",
    raises="element 0 of tensors does not require grad",
    names=("loss",),
    repair=("loss = nn.functional.mse_loss(pred, high)",),
)
