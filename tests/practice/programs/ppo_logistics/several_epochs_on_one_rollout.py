"""PPO for a warehouse: old log-probabilities and values under no_grad, several epochs over one rollout, returns early when KL is large. Healthy."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Dispatcher(nn.Module):
    def __init__(self, state=6, docks=4):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(state, 24), nn.Tanh())
        self.policy = nn.Linear(24, docks)
        self.value = nn.Linear(24, 1)

    def forward(self, s):
        h = self.shared(s)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


@torch.no_grad()
def rollout(model, n):
    state = torch.randn(n, 6)
    dist, value = model(state)
    action = dist.sample()
    reward = (action == state[:, :4].argmax(1)).float()
    advantage = reward - value
    return {
        "state": state,
        "action": action,
        "old": dist.log_prob(action),
        "value": value,
        "return": reward,
        "advantage": (advantage - advantage.mean()) / (advantage.std() + 1e-8),
    }


def ppo_loss(model, b, clip=0.2):
    dist, value = model(b["state"])
    log_ratio = dist.log_prob(b["action"]) - b["old"]
    ratio = log_ratio.exp()
    gain = torch.minimum(ratio * b["advantage"], ratio.clamp(1 - clip, 1 + clip) * b["advantage"]).mean()
    clipped = b["value"] + (value - b["value"]).clamp(-clip, clip)
    error = torch.maximum((value - b["return"]).square(), (clipped - b["return"]).square()).mean()
    with torch.no_grad():
        kl = (ratio - 1 - log_ratio).mean().item()
    return -gain + 0.5 * error - 0.01 * dist.entropy().mean(), kl


def update(model, optimizer, batch, epochs=3, target_kl=0.2):
    kls = []
    for _ in range(epochs):
        for rows in torch.randperm(len(batch["old"])).split(32):
            loss, kl = ppo_loss(model, {k: v[rows] for k, v in batch.items()})
            kls.append(kl)
            if kl > target_kl:
                return kls
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    return kls


def run():
    torch.manual_seed(0)
    model = Dispatcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-5)
    start = [p.detach().clone() for p in model.parameters()]
    rewards, kls = [], []
    for _ in range(4):
        batch = rollout(model, 128)
        rewards.append(batch["return"].mean().item())
        kls.append(update(model, optimizer, batch))
    return start, list(model.parameters()), rewards, kls


def verify(outcome):
    start, now, rewards, kls = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert all(abs(k[0]) < 1e-6 and k[-1] > 0 for k in kls)
    assert rewards[-1] > rewards[0]


TRUTH = Truth()
