"""Manual optimisation with accumulation: the step and the clearing come at every second batch and at the last one."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import BinaryAccuracy

from tests.practice.truth import Truth


class Module(L.LightningModule):
    def __init__(self, accumulate=2):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(4, 12), nn.GELU(), nn.Linear(12, 1))
        self.accuracy = BinaryAccuracy()
        self.accumulate, self.steps, self.validated = accumulate, 0, []

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt = self.optimizers()
        loss = F.binary_cross_entropy_with_logits(self(x), y) / self.accumulate
        self.manual_backward(loss)
        if (batch_idx + 1) % self.accumulate == 0 or self.trainer.is_last_batch:
            opt.step()
            opt.zero_grad()
            self.steps += 1
        self.log("loss", loss.detach() * self.accumulate, prog_bar=True)
        return {"loss": loss.detach()}

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.accuracy.update(logits.sigmoid(), y.int())
        self.validated.append(logits.requires_grad)

    def on_validation_epoch_end(self):
        self.log("acc", self.accuracy.compute())
        self.accuracy.reset()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def run():
    torch.manual_seed(0)
    x = torch.randn(20, 4)
    data = TensorDataset(x, (x.sum(1) > 0).float())
    model = Module()
    start = [p.detach().clone() for p in model.parameters()]
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=1,
    )
    trainer.fit(model, DataLoader(data, batch_size=4), DataLoader(data, batch_size=10))
    return model, start, trainer.callback_metrics


TRUTH = Truth()


def verify(out):
    model, start, metrics = out
    assert model.steps == 3 and not any(model.validated) and 0 <= metrics["acc"] <= 1
    assert all(not torch.equal(a, p) for a, p in zip(start, model.parameters()))
    assert all(p.grad is None for p in model.parameters())
