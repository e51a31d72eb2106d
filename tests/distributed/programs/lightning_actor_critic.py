"""Lightning with two optimizers that the module steps itself: an actor and a critic."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.distributed.truth import Truth


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "GROUP_RANK": 0,
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29983,
        "TORCHELASTIC_RUN_ID": "none",
    }.items():
        os.environ[key] = str(value)


def transitions(count=32):
    g = torch.Generator().manual_seed(8)
    state = torch.randn(count, 4, generator=g)
    action = torch.tanh(state[:, :1] + 0.3 * torch.randn(count, 1, generator=g))
    return TensorDataset(state, action, -(state[:, :1] + action).square())


def run():
    environment()
    import lightning as L

    class ActorCritic(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.actor = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
            self.critic = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))

        def value(self, state, action):
            return self.critic(torch.cat([state, action], 1))

        def training_step(self, batch, index):
            state, action, reward = batch
            actor_opt, critic_opt = self.optimizers()
            self.toggle_optimizer(critic_opt)
            critic_loss = F.mse_loss(self.value(state, action), reward)
            critic_opt.zero_grad()
            critic_loss.backward()  # cause
            critic_opt.step()
            self.untoggle_optimizer(critic_opt)
            self.toggle_optimizer(actor_opt)
            actor_loss = -self.value(state, self.actor(state)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()  # cause
            actor_opt.step()
            self.untoggle_optimizer(actor_opt)

        def configure_optimizers(self):
            return torch.optim.Adam(self.actor.parameters(), lr=1e-2), torch.optim.Adam(
                self.critic.parameters(), lr=1e-2
            )

    L.seed_everything(0, verbose=False)
    model = ActorCritic()
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp_find_unused_parameters_true",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(transitions(), batch_size=4, shuffle=True))
    return [round(p.norm().item(), 5) for p in model.parameters()]


TRUTH = Truth(
    fault="backward() instead of manual_backward(): Lightning does not prepare the wrapper, no gradient is reduced",
    rule="AG601",
    names=("critic",),
    where="any",
)
