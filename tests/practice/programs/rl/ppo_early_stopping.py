"""PPO with a clipped objective: the old log-probabilities are numbers, and a large KL ends the epochs."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self, obs, acts):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self.pi = nn.Linear(16, acts)
        self.v = nn.Linear(16, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)

    def evaluate(self, obs, action=None):
        h = self.trunk(obs)
        dist = Categorical(logits=self.pi(h))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.v(h).squeeze(-1)


def gae(rewards, values, last, gamma=0.99, lam=0.95):
    adv = torch.zeros_like(rewards)
    running = 0.0
    for t in reversed(range(len(rewards))):
        nxt = last if t == len(rewards) - 1 else values[t + 1]
        running = rewards[t] + gamma * nxt - values[t] + gamma * lam * running
        adv[t] = running
    return adv


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    agent = Agent(4, 3)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    first = agent.pi.weight.detach().clone()
    for update in range(2):
        frac = 1.0 - update / 2
        optimizer.param_groups[0]["lr"] = frac * 2.5e-3
        obs = torch.zeros(16, 4)
        actions, logprobs, values = torch.zeros(16, dtype=torch.long), torch.zeros(16), torch.zeros(16)
        for t in range(16):
            obs[t] = torch.as_tensor(rng.normal(size=4), dtype=torch.float32)
            with torch.no_grad():
                actions[t], logprobs[t], _, values[t] = agent.evaluate(obs[t])
        rewards = (actions == 1).float()
        advantages = gae(rewards, values, 0.0)
        returns = advantages + values
        for epoch in range(4):
            for idx in np.array_split(rng.permutation(16), 2):
                _, newlogprob, entropy, newvalue = agent.evaluate(obs[idx], actions[idx])
                logratio = newlogprob - logprobs[idx]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                adv = advantages[idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
                v_clipped = values[idx] + (newvalue - values[idx]).clamp(-0.2, 0.2)
                v_loss = 0.5 * torch.max((newvalue - returns[idx]) ** 2, (v_clipped - returns[idx]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
            if approx_kl > 0.02:
                break
        print(f"update {update} kl {approx_kl:.4f} loss {loss.item():.3f}")
    return agent, first, loss.item()


TRUTH = Truth()


def verify(out):
    agent, first, loss = out
    assert not torch.equal(agent.pi.weight, first)
    assert abs(loss) < 100
