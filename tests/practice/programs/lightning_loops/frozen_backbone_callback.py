"""Lightning's finetuning callback: the backbone is frozen at first and joins the optimizer after the first epoch."""

import lightning as L
import torch
from lightning.pytorch.callbacks import BaseFinetuning
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class FeatureExtractorFreezeUnfreeze(BaseFinetuning):
    def __init__(self, unfreeze_at_epoch):
        super().__init__()
        self.unfreeze_at = unfreeze_at_epoch

    def freeze_before_training(self, pl_module):
        self.freeze(pl_module.backbone)

    def finetune_function(self, pl_module, current_epoch, optimizer):
        if current_epoch == self.unfreeze_at:
            self.unfreeze_and_add_param_group(pl_module.backbone, optimizer, initial_denom_lr=10)


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12), nn.ReLU())
        self.head = nn.Linear(12, 3)
        self.snapshots = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.head(self.backbone(x)), y)
        self.log("loss", loss, on_epoch=True)
        return loss

    def on_train_epoch_end(self):
        self.snapshots.append(self.backbone[0].weight.detach().clone())

    def configure_optimizers(self):
        return torch.optim.Adam(filter(lambda p: p.requires_grad, self.parameters()), lr=1e-2)


def run():
    torch.manual_seed(0)
    model = Module()
    start = model.backbone[0].weight.detach().clone()
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        gradient_clip_val=1.0,
        callbacks=[FeatureExtractorFreezeUnfreeze(1)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(torch.randn(16, 6), torch.randint(3, (16,))), batch_size=8))
    return model, start, len(trainer.optimizers[0].param_groups)


TRUTH = Truth()


def verify(out):
    model, start, groups = out
    first, second, third = model.snapshots
    assert torch.equal(start, first) and not torch.equal(first, second) and not torch.equal(second, third)
    assert groups == 2
