"""Reinforcement learning: the optimizer is swapped after the scheduler was made, so the schedule drives a dead one."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Variant:
    K: int = 5
    state_dim: int = 6
    act_dim: int = 2
    embed_dim: int = 16
    learning_rate: float = 1e-2
    weight_decay: float = 1e-4
    warmup_steps: int = 4
    max_iters: int = 3
    decoupled: bool = True


class DecisionTransformer(nn.Module):
    def __init__(self, v):
        super().__init__()
        d = v.embed_dim
        self.embed_timestep = nn.Embedding(20, d)
        self.embed_return = nn.Linear(1, d)
        self.embed_state = nn.Linear(v.state_dim, d)
        self.embed_action = nn.Linear(v.act_dim, d)
        self.embed_ln = nn.LayerNorm(d)
        self.transformer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.predict_action = nn.Sequential(nn.Linear(d, v.act_dim), nn.Tanh())

    def forward(self, states, actions, returns_to_go, timesteps):
        B, T = states.shape[:2]
        time = self.embed_timestep(timesteps)
        stacked = torch.stack(
            [
                self.embed_return(returns_to_go) + time,
                self.embed_state(states) + time,
                self.embed_action(actions) + time,
            ],
            dim=2,
        ).reshape(B, 3 * T, -1)
        mask = nn.Transformer.generate_square_subsequent_mask(3 * T)
        x = self.transformer(self.embed_ln(stacked), src_mask=mask, is_causal=True)
        return self.predict_action(x.view(B, T, 3, -1)[:, :, 1])


class SequenceTrainer:
    def __init__(self, model, optimizer, scheduler, get_batch):
        self.model, self.optimizer, self.scheduler, self.get_batch = model, optimizer, scheduler, get_batch
        self.rates = []

    def train_step(self):
        states, actions, rtg, timesteps, mask = self.get_batch()
        preds = self.model(states, actions, rtg, timesteps)
        loss = F.mse_loss(preds[mask], actions[mask])
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.25)
        self.optimizer.step()
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        return loss.detach().item()

    def train_iteration(self, num_steps):
        self.model.train()
        for _ in range(num_steps):
            self.train_step()
            if self.scheduler is not None:
                self.scheduler.step()


class Trajectories:
    def __init__(self, v, n=20, length=12):
        self.v = v
        self.states = torch.randn(n, length, v.state_dim)
        self.actions = torch.tanh(self.states[..., : v.act_dim])
        self.rtg = torch.rand(n, length, 1).flip(1).cumsum(1).flip(1)

    def get_batch(self, batch_size=8):
        i = torch.randint(len(self.states), (batch_size,))
        s = torch.randint(self.states.size(1) - self.v.K, (1,)).item()
        cut = slice(s, s + self.v.K)
        timesteps = torch.arange(s, s + self.v.K).expand(batch_size, -1)
        mask = torch.ones(batch_size, self.v.K, dtype=torch.bool)
        return self.states[i, cut], self.actions[i, cut], self.rtg[i, cut], timesteps, mask


def experiment(variant):
    model = DecisionTransformer(variant)
    data = Trajectories(variant)
    optimizer = torch.optim.Adam(model.parameters(), lr=variant.learning_rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: min((steps + 1) / variant.warmup_steps, 1))
    if variant.decoupled:
        rest = {"lr": variant.learning_rate, "weight_decay": variant.weight_decay}
        optimizer = torch.optim.AdamW(model.parameters(), **rest)  # cause
    trainer = SequenceTrainer(model, optimizer, scheduler, data.get_batch)
    trainer.train_iteration(variant.max_iters)
    return trainer.rates


def run():
    torch.manual_seed(0)
    return experiment(Variant())


def verify(rates):
    assert rates == [1e-2] * 3


TRUTH = Truth(
    fault="the scheduler warms up the replaced Adam; the AdamW that steps keeps its full rate",
    names=("scheduler",),
    repair=(
        "optimizer = torch.optim.AdamW(model.parameters(), **rest)\nscheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: min((steps + 1) / variant.warmup_steps, 1))",
    ),
)
