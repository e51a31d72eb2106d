"""Lightning: `training_step` collects the logits for the epoch's confusion matrix with their graphs."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.functional.classification import multiclass_confusion_matrix

from tests.practice.truth import Truth


class LitGestures(L.LightningModule):
    def __init__(self, classes=3):
        super().__init__()
        self.classes = classes
        self.net = nn.Sequential(
            nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1)
        )
        self.fc = nn.Linear(8, classes)
        self.outputs, self.alive = [], 0

    def forward(self, x):
        return self.fc(F.relu(self.net(x)).mean(-1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log("loss", loss.detach(), on_epoch=True)
        self.outputs.append((logits, y))  # cause
        return loss

    def on_train_epoch_end(self):
        self.alive = sum(logits.grad_fn is not None for logits, _ in self.outputs)
        logits, y = (torch.cat(col) for col in zip(*self.outputs))
        matrix = multiclass_confusion_matrix(logits.argmax(1), y, self.classes)
        print("confusion", matrix.tolist())
        self.outputs.clear()

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=1e-3)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)}


def run():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(12, 4, 10), torch.randint(0, 3, (12,)))
    model = LitGestures()
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=3))
    return model.alive


def verify(out):
    assert out == 4


TRUTH = Truth(
    fault="every batch's graph lives until the epoch ends",
    names=("logits",),
    repair=("self.outputs.append((logits.detach(), y))",),
)
