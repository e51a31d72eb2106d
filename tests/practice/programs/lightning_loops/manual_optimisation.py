"""Lightning with manual optimisation: the step returns its loss, and nobody calls backward or the optimizer."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class LitSegmenter(L.LightningModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False  # cause
        self.backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.backbone(x))

    def shared_step(self, batch, stage):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log(f"{stage}_loss", loss, prog_bar=False)
        self.log(f"{stage}_acc", (logits.argmax(1) == y).float().mean())
        return loss

    def training_step(self, batch, batch_idx):
        return self.shared_step(batch, "train")  # also

    def validation_step(self, batch, batch_idx):
        self.shared_step(batch, "val")

    def configure_optimizers(self):
        backbone = {"params": self.backbone.parameters(), "lr": 0.1 * self.hparams.lr}
        return torch.optim.AdamW([backbone, {"params": self.head.parameters()}], lr=self.hparams.lr)


def run():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(8, 8), torch.randint(0, 4, (8,)))
    model = LitSegmenter()
    start = {k: v.clone() for k, v in model.state_dict().items()}
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(model, DataLoader(data, batch_size=4), DataLoader(data, batch_size=4))
    print({k: round(v.item(), 3) for k, v in trainer.callback_metrics.items()})
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(v, start[k]) for k, v in model.state_dict().items())


TRUTH = Truth(
    fault="no backward and no optimizer step in manual optimisation",
    minor=True,  # a program that looks at its losses before it trains does the same
    repair=("self.automatic_optimization = True",),
)
