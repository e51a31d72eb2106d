"""CleanRL-like PPO: the critic's column of values meets a row of returns, so every value is pulled to the mean return."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

from tests.practice.truth import Truth

ARGS = dict(num_steps=32, minibatch_size=16, update_epochs=8, clip_coef=0.2, vf_coef=0.5, ent_coef=0.01, lr=5e-2)


def layer_init(layer, std=2.0**0.5, bias=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(obs_dim, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0)
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(obs_dim, 32)), nn.Tanh(), layer_init(nn.Linear(32, n_actions), std=0.01)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def rollout(agent, steps):
    obs = torch.randn(steps, 4)
    with torch.no_grad():
        actions, logprobs, _, values = agent.get_action_and_value(obs)
    returns = 3.0 * obs[:, 0]
    return obs, actions, logprobs, values.flatten(), returns


def run():
    torch.manual_seed(0)
    agent = Agent(4, 3)
    optimizer = torch.optim.Adam(agent.parameters(), lr=ARGS["lr"], eps=1e-5)
    obs, actions, logprobs, values, returns = rollout(agent, ARGS["num_steps"])
    advantages = returns - values
    for _ in range(ARGS["update_epochs"]):
        for mb in torch.randperm(ARGS["num_steps"]).split(ARGS["minibatch_size"]):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs[mb], actions[mb])
            ratio = (newlogprob - logprobs[mb]).exp()
            adv = advantages[mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - ARGS["clip_coef"], 1 + ARGS["clip_coef"])).mean()
            v_loss = 0.5 * ((newvalue - returns[mb]) ** 2).mean()  # cause
            loss = pg_loss - ARGS["ent_coef"] * entropy.mean() + ARGS["vf_coef"] * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    with torch.no_grad():
        predicted = agent.get_value(obs).flatten()
    return predicted, returns


def verify(outcome):
    predicted, returns = outcome
    assert predicted.std() < 0.5 * returns.std()


TRUTH = Truth(
    fault="newvalue is (B, 1) and the returns are (B,): the difference is broadcast to (B, B) and every value is fitted to all returns",
    names=("newvalue",),
    repair=("v_loss = 0.5 * ((newvalue.view(-1) - returns[mb]) ** 2).mean()",),
)
