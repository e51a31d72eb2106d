"""A2C with a shared body: the critic's step changes the weights in place before the actor's loss goes back through them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self, n_obs=4, n_actions=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.pi = nn.Linear(16, n_actions)
        self.v = nn.Linear(16, 1)

    def forward(self, s):
        h = self.body(s)
        return F.log_softmax(self.pi(h), dim=-1), self.v(h).squeeze(-1)


class LineWorld:
    """Walk to the right end."""

    def reset(self):
        self.s = torch.zeros(4)
        return self.s.clone()

    def step(self, a):
        self.s[a] += 1
        return self.s.clone(), float(self.s[1] - self.s[0]), bool(self.s.sum() >= 6)


def returns(rewards, gamma=0.9):
    out, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        out.insert(0, acc)
    return torch.tensor(out)


def play(env, net):
    s, done, logps, values, rewards = env.reset(), False, [], [], []
    while not done:
        logp, v = net(s)
        a = torch.multinomial(logp.exp(), 1).item()
        s, r, done = env.step(a)
        logps.append(logp[a])
        values.append(v)
        rewards.append(r)
    return torch.stack(logps), torch.stack(values), returns(rewards)


def run():
    torch.manual_seed(0)
    net = ActorCritic()
    opt_critic = torch.optim.Adam([*net.body.parameters(), *net.v.parameters()], lr=1e-2)
    opt_actor = torch.optim.Adam([*net.body.parameters(), *net.pi.parameters()], lr=1e-2)
    env = LineWorld()
    for episode in range(3):
        logps, values, ret = play(env, net)
        critic_loss = F.mse_loss(values, ret)
        opt_critic.zero_grad()
        critic_loss.backward(retain_graph=True)
        opt_critic.step()  # cause

        advantage = (ret - values).detach()
        actor_loss = -(logps * advantage).mean()
        opt_actor.zero_grad()
        actor_loss.backward()  # symptom
        opt_actor.step()
        net.zero_grad()
    return episode


TRUTH = Truth(
    fault="opt_critic.step() changes the shared body in place while the actor's graph still needs the old weights",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("body",),
    repair=("opt_critic.step()\nlogps, values, ret = play(env, net)",),
)
