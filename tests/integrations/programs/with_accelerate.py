"""A hand-written loop with accelerate."""

from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from torch.utils.data import DataLoader, TensorDataset

from autograd_inspector.integrations.accelerate import AutogradInspector
from tests.integrations.programs.net import Net, rows
from tests.integrations.programs.scenes import play


def train(folder: Path, fault="", *, steps=4, inspect=True, board=False, bf16=False, **options):
    """``steps`` of two batches; ``board``: with TensorBoard."""
    AcceleratorState._reset_state()
    accelerator = Accelerator(
        cpu=True,
        mixed_precision="bf16" if bf16 else "no",
        gradient_accumulation_steps=2,
        project_dir=str(folder),
        log_with="tensorboard" if board else None,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=fault == "detach")],
    )
    if board:
        accelerator.init_trackers("project")
    torch.manual_seed(0)
    model = Net(fault)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(rows()), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    inspector = AutogradInspector(accelerator, **options)
    for number, (batch,) in enumerate(loader):
        if number == 2 * steps:
            break
        with (inspector if inspect else accelerator).accumulate(model):
            accelerator.backward(model(batch))
            if accelerator.sync_gradients:  # Before that each rank would clip what it alone has accumulated.
                accelerator.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            optimizer.zero_grad()
    return accelerator.unwrap_model(model), inspector


if __name__ == "__main__":
    play(train)
