"""A LightningModule and Lightning's Trainer."""

from pathlib import Path

import lightning
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset

from autograd_inspector.integrations.lightning import AutogradInspectorCallback
from tests.integrations.programs.net import Net, rows
from tests.integrations.programs.scenes import play


class Module(lightning.LightningModule):
    """The net, with what Lightning asks for."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.net = Net(fault)

    def training_step(self, batch, batch_index):
        return self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.1)


def train(folder: Path, fault="", *, steps=4, inspect=True, board=False, bf16=False, ranks=1, **options):
    """``steps`` of two batches; ``board``: with TensorBoard."""
    torch.manual_seed(0)
    model = Module(fault)
    callback = AutogradInspectorCallback(**options)
    several = "ddp_find_unused_parameters_true" if fault == "detach" else "ddp"
    trainer = lightning.Trainer(
        max_steps=steps,
        accelerator="cpu",
        devices=ranks,
        strategy=several if ranks > 1 else "auto",
        precision="bf16-mixed" if bf16 else "32-true",
        accumulate_grad_batches=2,
        gradient_clip_val=0.05,
        callbacks=[callback] if inspect else [],
        logger=TensorBoardLogger(folder) if board else False,
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(rows()), batch_size=2))
    return model, callback


if __name__ == "__main__":
    play(lambda *arguments, **options: train(*arguments, ranks=2, **options))
