"""Lightning: the loss of all ranks steers the schedule; features are gathered with gradient."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

from tests.distributed.truth import Truth


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "GROUP_RANK": 0,
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29998,
        "TORCHELASTIC_RUN_ID": "none",
    }.items():
        os.environ[key] = str(value)


def run():
    environment()
    import lightning as L

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 3)

        def training_step(self, batch, index):
            (x,) = batch
            z = F.normalize(self.net(x), dim=1)
            everything = self.all_gather(z, sync_grads=True).flatten(0, 1)
            own = torch.arange(len(z)) + len(z) * self.global_rank
            loss = F.cross_entropy(z @ everything.t() / 0.2, own)
            self.log("loss", loss, on_epoch=True, on_step=False, sync_dist=True)
            return loss

        def configure_optimizers(self):
            opt = torch.optim.SGD(self.parameters(), lr=0.5)
            plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, threshold=0.2)
            return {"optimizer": opt, "lr_scheduler": {"scheduler": plateau, "monitor": "loss"}}

    torch.manual_seed(0)
    model = Model()
    data = TensorDataset(torch.randn(16, 4))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=3,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    trainer.fit(model, DataLoader(data, batch_size=4))


TRUTH = Truth(values=True)
