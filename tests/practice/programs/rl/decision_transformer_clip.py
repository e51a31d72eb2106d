"""Offline RL: a decision transformer whose gradients are clipped between zero_grad and backward, where there are none."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask, pad):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, key_padding_mask=pad, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim=4, act_dim=2, hidden_size=16, max_ep_len=20):
        super().__init__()
        self.act_dim = act_dim
        self.embed_timestep = nn.Embedding(max_ep_len, hidden_size)
        self.embed_return = nn.Linear(1, hidden_size)
        self.embed_state = nn.Linear(state_dim, hidden_size)
        self.embed_action = nn.Linear(act_dim, hidden_size)
        self.embed_ln = nn.LayerNorm(hidden_size)
        self.blocks = nn.ModuleList([Block(hidden_size, 2)])
        self.predict_action = nn.Sequential(nn.Linear(hidden_size, act_dim), nn.Tanh())

    def forward(self, states, actions, returns_to_go, timesteps, attention_mask):
        B, T = states.shape[:2]
        time = self.embed_timestep(timesteps)
        tokens = torch.stack(
            (
                self.embed_return(returns_to_go) + time,
                self.embed_state(states) + time,
                self.embed_action(actions) + time,
            ),
            dim=1,
        )
        x = self.embed_ln(tokens.permute(0, 2, 1, 3).reshape(B, 3 * T, -1))
        pad = torch.stack((attention_mask,) * 3, dim=1).permute(0, 2, 1).reshape(B, 3 * T) == 0
        causal = torch.triu(torch.ones(3 * T, 3 * T, dtype=torch.bool), 1) & ~torch.eye(3 * T, dtype=torch.bool)
        for block in self.blocks:
            x = block(x, causal, torch.zeros_like(pad, dtype=x.dtype).masked_fill(pad, -1e4))
        x = x.reshape(B, T, 3, -1).permute(0, 2, 1, 3)
        return self.predict_action(x[:, 1])


class SequenceTrainer:
    def __init__(self, model, optimizer, get_batch, scheduler, max_norm=0.25):
        self.model, self.optimizer, self.get_batch = model, optimizer, get_batch
        self.scheduler, self.max_norm = scheduler, max_norm
        self.norms = []

    def train_iteration(self, num_steps):
        self.model.train()
        losses = [self.train_step() for _ in range(num_steps)]
        self.model.eval()
        return sum(losses) / len(losses)

    def train_step(self):
        states, actions, rtg, timesteps, attention_mask = self.get_batch(6)
        action_target = torch.clone(actions)
        action_preds = self.model(states, actions, rtg, timesteps, attention_mask)
        act_dim = action_preds.shape[2]
        action_preds = action_preds.reshape(-1, act_dim)[attention_mask.reshape(-1) > 0]
        action_target = action_target.reshape(-1, act_dim)[attention_mask.reshape(-1) > 0]
        loss = 8 * F.mse_loss(action_preds, action_target)

        self.optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # cause
        loss.backward()  # cause
        self.norms.append(
            torch.linalg.vector_norm(
                torch.stack([p.grad.norm() for p in self.model.parameters() if p.grad is not None])
            ).item()
        )
        self.optimizer.step()
        self.scheduler.step()
        return loss.detach().item()


def get_batch(n, K=4):
    lengths = torch.randint(2, K + 1, (n,))
    attention_mask = (torch.arange(K)[None] >= K - lengths[:, None]).long()
    timesteps = (torch.arange(K)[None] - (K - lengths[:, None])).clamp(min=0)
    return torch.randn(n, K, 4), torch.rand(n, K, 2) * 2 - 1, torch.randn(n, K, 1), timesteps, attention_mask


def run():
    torch.manual_seed(0)
    model = DecisionTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: min((steps + 1) / 10, 1))
    trainer = SequenceTrainer(model, optimizer, get_batch, scheduler)
    trainer.train_iteration(3)
    return trainer.norms


def verify(norms):
    assert min(norms) > 0.5


TRUTH = Truth(
    fault="clip_grad_norm_ runs before backward, on gradients that are None",
    names=("clip_grad_norm_",),
    repair=(
        "pass",
        "loss.backward()\ntorch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)",
    ),
)
