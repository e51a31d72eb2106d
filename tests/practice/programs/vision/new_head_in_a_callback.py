"""Vision: a Lightning callback replaces the head in on_fit_start, when the optimizers have been configured already."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")


class Classifier(L.LightningModule):
    def __init__(self, inp=12, width=16, classes=10):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(inp, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class FineTune(L.Callback):
    """Gives the model a head for the task at hand."""

    def __init__(self, classes):
        self.classes = classes
        self.initial = None

    def on_fit_start(self, trainer, pl_module):  # cause
        old = pl_module.fc
        pl_module.fc = nn.Linear(old.in_features, self.classes)  # also
        self.initial = pl_module.fc.weight.detach().clone()


class KeepBackbone(L.Callback):
    def on_train_start(self, trainer, pl_module):
        self.before = pl_module.backbone[0].weight.detach().clone()


def data(n=32, classes=3):
    return DataLoader(TensorDataset(torch.randn(n, 12), torch.randint(0, classes, (n,))), batch_size=8)


def fit(model, callbacks):
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    trainer.fit(model, data())


def run():
    torch.manual_seed(0)
    model = Classifier()
    tune, keep = FineTune(classes=3), KeepBackbone()
    fit(model, [tune, keep])
    return {
        "head": (tune.initial, model.fc.weight.detach(), model.fc.weight.grad is not None),
        "backbone": (keep.before, model.backbone[0].weight.detach()),
    }


def verify(outcome):
    initial, head, _ = outcome["head"]
    before, backbone = outcome["backbone"]
    assert torch.equal(initial, head)
    assert not torch.equal(before, backbone)


TRUTH = Truth(
    fault="on_fit_start runs after configure_optimizers: the new fc is in no optimizer",
    names=("fc",),
    repair=("def setup(self, trainer, pl_module, stage):",),
)
