"""lightning 2.2 and later: fit() keeps the modes it finds, and the loaded backbone is in eval mode."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import DistilBertConfig, DistilBertModel

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


def pretrain(path):
    """What the hub would have given."""
    config = DistilBertConfig(
        vocab_size=30, dim=16, n_layers=1, n_heads=2, hidden_dim=32, max_position_embeddings=16, dropout=0.2
    )
    DistilBertModel(config).save_pretrained(path)


class SentimentModule(L.LightningModule):
    def __init__(self, path, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.backbone = DistilBertModel.from_pretrained(path)  # cause
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(16, 2))
        self.loss = nn.CrossEntropyLoss()
        self.modes = []

    def forward(self, ids):
        return self.head(self.backbone(input_ids=ids).last_hidden_state[:, 0])

    def training_step(self, batch, batch_idx):
        ids, labels = batch
        self.modes.append((self.backbone.training, self.head.training))
        loss = self.loss(self(ids), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, labels = batch
        self.log("val_acc", (self(ids).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        groups = [
            {"params": self.backbone.parameters(), "lr": self.lr / 10},
            {"params": self.head.parameters(), "lr": self.lr},
        ]
        return torch.optim.AdamW(groups)


def loaders():
    ids, labels = torch.randint(0, 30, (12, 6)), torch.randint(0, 2, (12,))
    data = TensorDataset(ids, labels)
    return DataLoader(data, batch_size=4), DataLoader(data, batch_size=4)


def run():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as path:
        pretrain(path)
        module = SentimentModule(path)
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=path,
            num_sanity_val_steps=0,
        )
        train, val = loaders()
        trainer.fit(module, train, val)
    return module.modes


def verify(outcome):
    assert len(outcome) == 3 and all(m == (False, True) for m in outcome), outcome


TRUTH = Truth(
    fault="from_pretrained() returns a model in eval mode and fit() leaves it so: no dropout in the fine-tuning",
    names=("backbone",),
    repair=("self.backbone = DistilBertModel.from_pretrained(path).train()",),
)
