"""MADDPG: hard Gumbel samples carry the gradient of one agent, and the others' actions in its update carry none."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Agent:
    def __init__(self, obs, act, n):
        self.policy = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act))
        self.critic = nn.Sequential(nn.Linear(n * (obs + act), 24), nn.ReLU(), nn.Linear(24, 1))
        self.target_policy = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act)).requires_grad_(False)
        self.target_policy.load_state_dict(self.policy.state_dict())
        self.p_opt = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)


def onehot_from_logits(logits):
    return (logits == logits.max(-1, keepdim=True).values).float()


def update(agents, i, obs, acts, rew, nxt):
    agent = agents[i]
    next_acts = [onehot_from_logits(a.target_policy(o)) for a, o in zip(agents, nxt)]
    with torch.no_grad():
        target = rew[i] + 0.95 * agent.critic(torch.cat([*nxt, *next_acts], 1))
    vf_loss = F.mse_loss(agent.critic(torch.cat([*obs, *acts], 1)), target)
    agent.c_opt.zero_grad()
    vf_loss.backward()
    nn.utils.clip_grad_norm_(agent.critic.parameters(), 0.5)
    agent.c_opt.step()

    logits = agent.policy(obs[i])
    mine = F.gumbel_softmax(logits, hard=True)
    all_acts = []
    for j, (other, o) in enumerate(zip(agents, obs)):
        all_acts.append(mine if j == i else onehot_from_logits(other.policy(o).detach()))
    pol_loss = -agent.critic(torch.cat([*obs, *all_acts], 1)).mean() + 1e-3 * (logits**2).mean()
    agent.p_opt.zero_grad()
    pol_loss.backward()
    nn.utils.clip_grad_norm_(agent.policy.parameters(), 0.5)
    agent.p_opt.step()
    return vf_loss.item(), pol_loss.item()


def run():
    torch.manual_seed(0)
    agents = [Agent(3, 2, 2) for _ in range(2)]
    log = []
    for _ in range(2):
        obs, nxt = [torch.randn(12, 3) for _ in agents], [torch.randn(12, 3) for _ in agents]
        acts = [F.one_hot(torch.randint(2, (12,)), 2).float() for _ in agents]
        rew = [a[:, :1] for a in acts]
        log += [update(agents, i, obs, acts, rew, nxt) for i in range(2)]
        for a in agents:
            for p, t in zip(a.policy.parameters(), a.target_policy.parameters()):
                t.data.copy_(0.99 * t.data + 0.01 * p.data)
    return agents, log


TRUTH = Truth()


def verify(out):
    agents, log = out
    for a in agents:
        assert all(p.grad.abs().sum() > 0 for m in (a.policy, a.critic) for p in m.parameters())
        assert all(p.grad is None for p in a.target_policy.parameters())
    assert all(abs(v) < 100 for row in log for v in row)
