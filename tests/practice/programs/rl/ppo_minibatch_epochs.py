"""PPO: the old log-probabilities are computed anew beside the new ones, so the ratio has no gradient."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, n_actions))
        self.critic = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, 1))

    @torch.no_grad()
    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample()
        return action, dist.log_prob(action), self.critic(obs).squeeze(-1)

    def evaluate(self, obs, action):
        dist = Categorical(logits=self.actor(obs))
        return dist.log_prob(action), dist.entropy(), self.critic(obs).squeeze(-1)


def collect(model, steps=16):
    obs = torch.randn(steps, 4)
    action, log_prob, value = model.act(obs)
    reward = torch.randn(steps)
    ret = torch.zeros(steps)
    running = 0.0
    for t in reversed(range(steps)):
        running = reward[t] + 0.99 * running
        ret[t] = running
    adv = ret - value
    return {"obs": obs, "act": action, "log_prob": log_prob, "ret": ret, "adv": (adv - adv.mean()) / adv.std()}


def run():
    torch.manual_seed(0)
    model = ActorCritic(4, 3)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    clip, ent_coef, stats = 0.2, 0.0, []
    for _ in range(2):
        rollout = collect(model)
        for _epoch in range(2):
            for idx in torch.randperm(16).split(8):
                mb = {k: v[idx] for k, v in rollout.items()}
                log_prob, entropy, value = model.evaluate(mb["obs"], mb["act"])
                old_log_prob, _, _ = model.evaluate(mb["obs"], mb["act"])  # cause
                ratio = (log_prob - old_log_prob).exp()
                surr = torch.min(ratio * mb["adv"], ratio.clamp(1 - clip, 1 + clip) * mb["adv"])
                loss = -surr.mean() + 0.5 * (mb["ret"] - value).pow(2).mean() - ent_coef * entropy.mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                opt.step()
                stats.append((ratio.mean().item(), loss.item()))
    return model, start


def verify(out):
    model, start = out
    assert torch.allclose(model.actor[2].weight, start["actor.2.weight"], atol=2e-3)
    assert model.actor[2].weight.grad.abs().max() < 1e-6  # the policy learns nothing


TRUTH = Truth(
    fault="new and old log-probability come from the same graph: their gradients cancel",
    names=("old_log_prob",),
    repair=('old_log_prob = mb["log_prob"]',),
)
