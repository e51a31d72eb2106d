"""Manual optimisation without zero_grad(): every step has the gradients of all before."""

import warnings

import torch
from torch import nn
import lightning

from tests.practice.truth import Truth


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Linear(4, 1)
        self.norms = []

    def training_step(self, batch, index):
        opt = self.optimizers()
        loss = self.net(batch[0]).sum()
        self.manual_backward(loss)  # cause
        opt.step()  # also
        self.norms.append(self.net.bias.grad.item())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def run():
    torch.manual_seed(0)
    module = Module()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(12, 4)), batch_size=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lightning.Trainer(
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            accelerator="cpu",
        )
        trainer.fit(module, data)
    return module.norms


def verify(out):
    assert out == [4.0, 8.0, 12.0]


TRUTH = Truth(
    fault="the gradients are never cleared",
    names=("zero_grad",),
    repair=("opt.zero_grad()\nself.manual_backward(loss)",),
)
