"""Reinforcement learning: IMPALA's V-trace targets under no_grad and weights copied to the actor by hand (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Flags:
    unroll_length: int = 6
    batch_size: int = 4
    num_actions: int = 3
    obs_dim: int = 5
    discounting: float = 0.95
    baseline_cost: float = 0.5
    entropy_cost: float = 0.01
    learning_rate: float = 3e-3
    grad_norm_clipping: float = 40.0
    updates: int = 3


class AtariNet(nn.Module):
    def __init__(self, flags):
        super().__init__()
        self.fc = nn.Linear(flags.obs_dim + flags.num_actions + 1, 16)
        self.core = nn.LSTMCell(16, 16)
        self.policy, self.baseline = nn.Linear(16, flags.num_actions), nn.Linear(16, 1)
        self.num_actions = flags.num_actions

    def initial_state(self, batch_size):
        return torch.zeros(batch_size, 16), torch.zeros(batch_size, 16)

    def forward(self, inputs, core_state):
        one_hot = F.one_hot(inputs["last_action"], self.num_actions).float()
        clipped = inputs["reward"].clamp(-1, 1)[..., None]
        x = F.relu(self.fc(torch.cat([inputs["obs"], one_hot, clipped], -1)))
        outputs = []
        for step, done in zip(x.unbind(0), inputs["done"].unbind(0)):
            notdone = (~done).float()[:, None]
            core_state = self.core(step, tuple(notdone * s for s in core_state))
            outputs.append(core_state[0])
        h = torch.stack(outputs)
        logits = self.policy(h)
        action = torch.distributions.Categorical(logits=logits).sample() if self.training else logits.argmax(-1)
        return {"logits": logits, "baseline": self.baseline(h).squeeze(-1), "action": action}, core_state


def action_log_probs(logits, actions):
    return -F.nll_loss(F.log_softmax(logits.flatten(0, 1), -1), actions.flatten(), reduction="none").view_as(actions)


@torch.no_grad()
def vtrace(log_rhos, discounts, rewards, values, bootstrap):
    rhos = log_rhos.exp()
    clipped, cs = rhos.clamp(max=1.0), rhos.clamp(max=1.0)
    nxt = torch.cat([values[1:], bootstrap[None]], 0)
    deltas = clipped * (rewards + discounts * nxt - values)
    acc, out = torch.zeros_like(bootstrap), []
    for t in reversed(range(len(rewards))):
        acc = deltas[t] + discounts[t] * cs[t] * acc
        out.append(acc)
    vs = torch.stack(out[::-1]) + values
    vs_next = torch.cat([vs[1:], bootstrap[None]], 0)
    return vs, clipped * (rewards + discounts * vs_next - values)


@torch.no_grad()
def act(actor, flags, state):
    T, B = flags.unroll_length + 1, flags.batch_size
    batch = {
        "obs": torch.randn(T, B, flags.obs_dim),
        "last_action": torch.randint(flags.num_actions, (T, B)),
        "reward": torch.randn(T, B),
        "done": torch.rand(T, B) < 0.1,
    }
    out, new_state = actor(batch, state)
    return {**batch, "policy_logits": out["logits"], "action": out["action"]}, new_state


def learn(flags, actor, model, batch, state, optimizer):
    out, _ = model(batch, state)
    bootstrap = out["baseline"][-1]
    actions, behaviour = batch["action"][:-1], batch["policy_logits"][:-1]
    logits, values = out["logits"][:-1], out["baseline"][:-1]
    target_logp = action_log_probs(logits, actions)
    discounts = (~batch["done"][1:]).float() * flags.discounting
    log_rhos = target_logp - action_log_probs(behaviour, actions)
    vs, pg_advantages = vtrace(log_rhos, discounts, batch["reward"][1:].clamp(-1, 1), values, bootstrap)
    pg_loss = -(target_logp * pg_advantages.detach()).sum()
    baseline_loss = flags.baseline_cost * 0.5 * (vs - values).pow(2).sum()
    entropy_loss = flags.entropy_cost * (logits.softmax(-1) * logits.log_softmax(-1)).sum()
    optimizer.zero_grad()
    (pg_loss + baseline_loss + entropy_loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), flags.grad_norm_clipping)
    optimizer.step()
    actor.load_state_dict(model.state_dict())


def run():
    torch.manual_seed(0)
    flags = Flags()
    learner, actor = AtariNet(flags), AtariNet(flags)
    actor.load_state_dict(learner.state_dict())
    actor.requires_grad_(False)
    optimizer = torch.optim.RMSprop(learner.parameters(), lr=flags.learning_rate, eps=0.01, alpha=0.99)
    before = [p.detach().clone() for p in learner.parameters()]
    state, synced = learner.initial_state(flags.batch_size), []
    for _ in range(flags.updates):
        first = state
        batch, state = act(actor, flags, state)
        learn(flags, actor, learner, batch, first, optimizer)
        synced.append(all(torch.equal(p, q) for p, q in zip(actor.parameters(), learner.parameters())))
    return before, list(learner.parameters()), synced


def verify(outcome):
    before, after, synced = outcome
    assert all(synced) and all(not torch.equal(b, a) for b, a in zip(before, after))
    assert all(p.grad.abs().sum() > 0 for p in after)


TRUTH = Truth()
