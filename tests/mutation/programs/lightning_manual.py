import logging

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Manual(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.head = nn.Linear(4, 1)
        self.running = 0.0

    def forward(self, x):
        features = self.encoder(x)
        return self.head(features).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt = self.optimizers()
        prediction = self(x)
        loss = F.mse_loss(prediction, y) / 2
        self.manual_backward(loss)
        self.running += loss.item()
        if (batch_idx + 1) % 2 == 0:
            self.clip_gradients(opt, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
            opt.step()
            opt.zero_grad()
            sch = self.lr_schedulers()
            sch.step()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.last = F.mse_loss(self(x), y)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        return [optimizer], [scheduler]


def run():
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    data = TensorDataset(torch.randn(32, 6), torch.randn(32))
    loader = DataLoader(data, batch_size=4)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        limit_val_batches=1,
    )
    model = Manual()
    trainer.fit(model, loader, loader)
    return model
