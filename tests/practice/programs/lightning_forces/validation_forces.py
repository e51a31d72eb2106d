"""Lightning: forces are gradients of the energy; in validate() they fail, though fit() validates without trouble."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class RadialNet(nn.Module):
    def __init__(self, n_rbf=8, hidden=16):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.5, 3.0, n_rbf))
        self.net = nn.Sequential(nn.Linear(n_rbf, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, pos):
        n = pos.size(1)
        i, j = torch.triu_indices(n, n, 1)
        dist = (pos[:, i] - pos[:, j]).pow(2).sum(-1).add(1e-8).sqrt()
        rbf = torch.exp(-4 * (dist[..., None] - self.centres) ** 2)
        return self.net(rbf).sum((1, 2))


class ForceField(L.LightningModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.model = RadialNet()
        self.val_errors = []

    def energy_and_forces(self, pos):
        pos = pos.detach().clone().requires_grad_(True)
        energy = self.model(pos)
        (grad,) = torch.autograd.grad(energy.sum(), pos, create_graph=self.training)  # symptom
        return energy, -grad

    def training_step(self, batch, batch_idx):
        pos, energy, forces = batch
        e, f = self.energy_and_forces(pos)
        loss = F.mse_loss(e, energy) + 10 * F.mse_loss(f, forces)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        pos, energy, forces = batch
        with torch.enable_grad():
            e, f = self.energy_and_forces(pos)
        error = F.l1_loss(f.detach(), forces)
        self.val_errors.append(error.item())
        self.log("val_mae_forces", error)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, amsgrad=True)


def loader(n):
    pos = 1.5 * torch.randn(n, 4, 3)
    return DataLoader(TensorDataset(pos, pos.pow(2).sum((1, 2)), -2 * pos), batch_size=4)


def run():
    torch.manual_seed(0)
    module = ForceField()
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    options.update(accelerator="cpu", max_epochs=2, num_sanity_val_steps=0)
    trainer = L.Trainer(**options)  # cause
    trainer.fit(module, loader(8), loader(4))
    trainer.validate(module, loader(8), verbose=False)
    return module.val_errors


TRUTH = Truth(
    fault="validate() runs in inference mode, in which enable_grad() records nothing",
    raises="element 0 of tensors does not require grad and does not have a grad_fn",
    names=("inference_mode",),
    repair=("trainer = L.Trainer(inference_mode=False, **options)",),
)
