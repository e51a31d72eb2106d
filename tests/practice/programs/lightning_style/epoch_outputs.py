"""Lightning classifier that keeps its step outputs for an epoch summary."""

import logging
import warnings

import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth, fails

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class LitClassifier(L.LightningModule):
    def __init__(self, classes=3, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        self.head = nn.Linear(16, classes)
        self.step_outputs = []
        self.epoch_log = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.head(self.body(x))
        loss = F.cross_entropy(logits, y)
        self.step_outputs.append({"loss": loss, "logits": logits, "y": y})  # cause
        return loss

    def on_train_epoch_end(self):
        logits = torch.cat([o["logits"] for o in self.step_outputs])
        y = torch.cat([o["y"] for o in self.step_outputs])
        self.epoch_log.append(
            {
                "loss": sum(o["loss"] for o in self.step_outputs) / len(self.step_outputs),
                "acc": (logits.argmax(-1) == y).float().mean(),
            }
        )
        self.step_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)


def run():
    torch.manual_seed(0)
    model = LitClassifier()
    data = TensorDataset(torch.randn(40, 5), torch.randint(0, 3, (40,)))
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=8))
    return model.epoch_log


TRUTH = Truth(
    fault="step outputs and the epoch log keep the graph of every batch alive",
    names=("step_outputs",),
    repair=('self.step_outputs.append({"loss": loss.detach(), "logits": logits.detach(), "y": y})',),
)


def well(out):
    assert len(out) == 3 and not any(v.requires_grad for row in out for v in row.values())


verify = fails(well)
