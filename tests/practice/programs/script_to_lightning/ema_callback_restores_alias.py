"""Script to Lightning: the EMA swap became a callback; it keeps the training weights as a state_dict(), which the swap overwrites."""

import copy
import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class EMACallback(L.Callback):
    def __init__(self, decay=0.8):
        self.decay = decay
        self.history = []

    def on_fit_start(self, trainer, module):
        self.shadow = {name: value.clone() for name, value in module.state_dict().items()}

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        for name, value in module.state_dict().items():
            self.shadow[name].lerp_(value, 1 - self.decay)

    def on_validation_start(self, trainer, module):
        self.trained = module.net.weight.detach().clone()
        self.backup = module.state_dict()  # cause
        module.load_state_dict(self.shadow)

    def on_validation_end(self, trainer, module):
        module.load_state_dict(self.backup)
        self.history.append((self.trained, module.net.weight.detach().clone()))


class Linear(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        F.mse_loss(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    ema = EMACallback()
    loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 2)), batch_size=8)
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[ema],
    )
    trainer.fit(Linear(), loader, loader)
    return ema.history


def verify(log):
    assert all(not torch.equal(trained, restored) for trained, restored in log)


TRUTH = Truth(
    fault="the backup of the training weights shares memory with the module: after validation training goes on from the EMA weights",
    names=("state_dict",),
    repair=("self.backup = copy.deepcopy(module.state_dict())",),
)
