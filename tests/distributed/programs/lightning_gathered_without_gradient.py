"""The contrastive loss gathers the features of all ranks without their gradient."""

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
            self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)

        def training_step(self, batch, index):
            a = F.normalize(self.image(batch[0]), dim=1)
            b = F.normalize(self.text(batch[1]), dim=1)
            a, b = self.all_gather(a).flatten(0, 1), self.all_gather(b).flatten(0, 1)  # cause
            return F.cross_entropy(a @ b.t() / 0.1, torch.arange(len(a)))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    model = Model()
    data = TensorDataset(torch.randn(16, 6), torch.randn(16, 5))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=4))


TRUTH = Truth(
    fault="no gradient through all_gather",
    names=("image.weight", "sync_grads=True"),
    rule="AG102",
    raises="does not require grad",
)
