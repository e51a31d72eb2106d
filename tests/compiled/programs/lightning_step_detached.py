"""A LightningModule is compiled, and its training step detaches what the encoder made."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


def setup():
    global trainer, module, data
    torch.manual_seed(0)
    import lightning

    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = nn.Linear(4, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.head(torch.relu(self.encoder(x)).detach())  # cause

        def training_step(self, batch, _):
            x, y = batch
            return F.cross_entropy(self(x), y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    module = torch.compile(Lit(), backend=BACKEND)
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(6, 4), torch.randint(2, (6,))), batch_size=3
    )
    trainer = lightning.Trainer(
        max_steps=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def run():
    trainer.fit(module, data)
