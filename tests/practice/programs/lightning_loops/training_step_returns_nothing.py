"""Lightning: the training step logs its loss and returns nothing."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class Regressor(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)  # also
        self.log("train_loss", loss)  # cause

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-2)


def run():
    torch.manual_seed(0)
    module = Regressor()
    before = module.net[0].weight.detach().clone()
    data = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, data)
    return module, before


def verify(out):
    module, before = out
    assert torch.equal(module.net[0].weight, before)


TRUTH = Truth(
    fault="no backward runs: Lightning gets no loss",
    names=("loss", "returns"),
    repair=("self.log('train_loss', loss)\nreturn loss",),
)
