"""CleanRL, PPO with RND: the list of the parameters is put together with the target network, not the predictor."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

from tests.practice.truth import Truth


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, obs_dim=6, n_actions=3):
        super().__init__()
        self.network = nn.Sequential(layer_init(nn.Linear(obs_dim, 16)), nn.Tanh())
        self.actor = layer_init(nn.Linear(16, n_actions), std=0.01)
        self.critic_ext, self.critic_int = layer_init(nn.Linear(16, 1)), layer_init(nn.Linear(16, 1))

    def get_action_and_value(self, x, action=None):
        hidden = self.network(x)
        probs = Categorical(logits=self.actor(hidden))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic_ext(hidden), self.critic_int(hidden)


class RNDModel(nn.Module):
    def __init__(self, obs_dim=6, out=8):
        super().__init__()
        self.predictor = nn.Sequential(layer_init(nn.Linear(obs_dim, 16)), nn.ReLU(), layer_init(nn.Linear(16, out)))
        self.target = nn.Sequential(layer_init(nn.Linear(obs_dim, 16)), nn.ReLU(), layer_init(nn.Linear(16, out)))
        for param in self.target.parameters():
            param.requires_grad = False

    def forward(self, next_obs):
        return self.predictor(next_obs), self.target(next_obs)


def rollout(agent, rnd_model, n=16):
    obs, next_obs = torch.randn(n, 6), torch.randn(n, 6)
    with torch.no_grad():
        action, logprob, _, v_ext, v_int = agent.get_action_and_value(obs)
        predict, target = rnd_model(next_obs)
        curiosity = (target - predict).pow(2).sum(1) / 2
    ext, intr = obs[:, 0] * (action == 1), curiosity
    advantages = 2.0 * (ext - v_ext.flatten()) + (intr - v_int.flatten())
    return obs, next_obs, action, logprob, advantages, ext, intr


def run():
    torch.manual_seed(1)
    agent, rnd_model = Agent(), RNDModel()
    combined_parameters = list(agent.parameters()) + list(rnd_model.target.parameters())  # cause
    optimizer = torch.optim.Adam(combined_parameters, lr=1e-2, eps=1e-5)
    start = [p.detach().clone() for p in rnd_model.predictor.parameters()]
    for _ in range(3):
        obs, next_obs, action, logprob, advantages, ext, intr = rollout(agent, rnd_model)
        for _ in range(2):
            predict_next, target_next = rnd_model(next_obs)
            forward_loss = F.mse_loss(predict_next, target_next.detach(), reduction="none").mean(-1)
            mask = (torch.rand(len(forward_loss)) < 0.25).float()
            forward_loss = (forward_loss * mask).sum() / mask.sum().clamp(min=1)
            _, newlogprob, entropy, new_ext, new_int = agent.get_action_and_value(obs, action)
            ratio = (newlogprob - logprob).exp()
            pg_loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.9, 1.1)).mean()
            v_loss = F.mse_loss(new_ext.view(-1), ext) + F.mse_loss(new_int.view(-1), intr)
            loss = pg_loss - 0.001 * entropy.mean() + 0.5 * v_loss + forward_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(combined_parameters, 0.5)
            optimizer.step()
    return [torch.equal(p, s) for p, s in zip(rnd_model.predictor.parameters(), start)]


def verify(same):
    assert len(same) == 4 and all(same)


TRUTH = Truth(
    fault="the optimizer has the frozen target network instead of the predictor, which never learns",
    names=("predictor",),
    repair=("combined_parameters = list(agent.parameters()) + list(rnd_model.predictor.parameters())",),
)
