"""Stable-Baselines3: a policy of one's own gets its auxiliary head after the base class has built the optimizer."""

import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from tests.practice.truth import Truth


class ActorCriticPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim, lr_schedule, net_arch=(16, 16), optimizer_class=torch.optim.Adam):
        super().__init__()
        self.obs_dim, self.act_dim, self.net_arch = obs_dim, act_dim, net_arch
        self.optimizer_class, self.optimizer_kwargs = optimizer_class, {"eps": 1e-5}
        self._build(lr_schedule)

    def _build_mlp_extractor(self):
        sizes = [self.obs_dim, *self.net_arch]
        layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.Tanh())]
        self.mlp_extractor = nn.Sequential(*layers)

    def _build(self, lr_schedule):
        self._build_mlp_extractor()
        self.action_net, self.value_net = nn.Linear(self.net_arch[-1], self.act_dim), nn.Linear(self.net_arch[-1], 1)
        self.log_std = nn.Parameter(torch.zeros(self.act_dim))
        for module, gain in ((self.action_net, 0.01), (self.value_net, 1.0)):
            nn.init.orthogonal_(module.weight, gain)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def evaluate_actions(self, obs, actions):
        latent = self.mlp_extractor(obs)
        dist = Normal(self.action_net(latent), self.log_std.exp())
        return self.value_net(latent).flatten(), dist.log_prob(actions).sum(-1), dist.entropy().sum(-1), latent


class DynamicsAwarePolicy(ActorCriticPolicy):
    def __init__(self, *args, latent_dim=16, **kwargs):
        super().__init__(*args, **kwargs)
        self.forward_model = nn.Sequential(  # also
            nn.Linear(latent_dim + self.act_dim, 16), nn.ReLU(), nn.Linear(16, self.obs_dim)
        )
        nn.init.orthogonal_(self.forward_model[-1].weight, 0.5)  # cause

    def predict_next(self, latent, actions):
        return self.forward_model(torch.cat([latent, actions], -1))


def ppo_update(policy, data, clip_range=0.2, aux_coef=0.5, max_grad_norm=0.5):
    obs, actions, old_log_prob, advantages, returns, next_obs = data
    values, log_prob, entropy, latent = policy.evaluate_actions(obs, actions)
    ratio = torch.exp(log_prob - old_log_prob)
    clipped = advantages * torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    policy_loss = -torch.min(advantages * ratio, clipped).mean()
    aux_loss = F.mse_loss(policy.predict_next(latent, actions), next_obs)
    loss = policy_loss + 0.5 * F.mse_loss(returns, values) - 0.01 * entropy.mean() + aux_coef * aux_loss
    policy.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
    policy.optimizer.step()
    return aux_loss.item()


def run():
    torch.manual_seed(0)
    policy = DynamicsAwarePolicy(6, 2, lambda _: 3e-3)
    start = {n: p.detach().clone() for n, p in policy.named_parameters()}
    for _ in range(4):
        obs, actions = torch.randn(16, 6), torch.randn(16, 2)
        with torch.no_grad():
            values, log_prob, _, _ = policy.evaluate_actions(obs, actions)
        returns = obs[:, 0] + actions[:, 0]
        ppo_update(policy, (obs, actions, log_prob, returns - values, returns, obs * 0.9))
    return [n for n, p in policy.named_parameters() if torch.equal(p, start[n])]


def verify(untrained):
    assert untrained == [f"forward_model.{i}.{k}" for i in (0, 2) for k in ("weight", "bias")], untrained


TRUTH = Truth(
    fault="the optimizer was made by the base class before forward_model was there",
    names=("forward_model",),
    repair=(
        "nn.init.orthogonal_(self.forward_model[-1].weight, 0.5)\n"
        "self.optimizer.add_param_group({'params': list(self.forward_model.parameters())})",
    ),
)
