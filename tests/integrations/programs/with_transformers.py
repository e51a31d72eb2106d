"""A torch module and transformers' Trainer."""

from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from autograd_inspector.integrations.transformers import AutogradInspectorCallback
from tests.integrations.programs.net import Net, rows
from tests.integrations.programs.scenes import play


class Rows(Dataset):
    """The rows, named after the net's argument."""

    def __init__(self) -> None:
        self.rows = rows()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index):
        return {"x": self.rows[index]}


class Losing(Net):
    """The net, with its loss under the name that the Trainer looks for."""

    def forward(self, x):
        return {"loss": super().forward(x)}


def train(folder: Path, fault="", *, steps=4, inspect=True, board=False, bf16=False, callbacks=(), **options):
    """``steps`` of two batches; ``board``: with TensorBoard."""
    torch.manual_seed(0)
    model = Losing(fault)
    callback = AutogradInspectorCallback(**options)
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        learning_rate=0.1,
        max_grad_norm=0.05,
        use_cpu=True,
        bf16=bf16,
        save_strategy="no",
        logging_strategy="no",
        report_to=["tensorboard"] if board else [],
        disable_tqdm=True,
        ddp_find_unused_parameters=fault == "detach",
    )
    inspecting = [callback] if inspect else []
    Trainer(model, arguments, train_dataset=Rows(), callbacks=[*callbacks, *inspecting]).train()
    return model, callback


class Meets(TrainerCallback):
    """Where the Trainer logs, all ranks meet: one that came alone would wait for the others for ever."""

    def on_log(self, *_, **__):
        dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    play(lambda *arguments, **options: train(*arguments, callbacks=[Meets()], **options))
