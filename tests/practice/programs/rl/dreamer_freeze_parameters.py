"""Dreamer: a context manager freezes the world model and the value net while the actor learns in imagination."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class FreezeParameters:
    def __init__(self, modules):
        self.params = [p for m in modules for p in m.parameters()]

    def __enter__(self):
        self.states = [p.requires_grad for p in self.params]
        for p in self.params:
            p.requires_grad = False

    def __exit__(self, *args):
        for p, state in zip(self.params, self.states):
            p.requires_grad = state


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ELU(), nn.Linear(16, o))


def lambda_return(reward, value, bootstrap, discount=0.99, lam=0.95):
    nxt = torch.cat([value[1:], bootstrap[None]])
    target = reward + discount * nxt * (1 - lam)
    out, last = [], bootstrap
    for t in reversed(range(len(reward))):
        last = target[t] + discount * lam * last
        out.append(last)
    return torch.stack(out[::-1])


def run():
    torch.manual_seed(0)
    dynamics, reward_model, encoder = nn.GRUCell(2, 8), mlp(8, 1), mlp(5, 8)
    actor, value = mlp(8, 2), mlp(8, 1)
    world = nn.ModuleList([dynamics, reward_model, encoder])
    model_opt = torch.optim.Adam(world.parameters(), lr=6e-3)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=8e-3)
    value_opt = torch.optim.Adam(value.parameters(), lr=8e-3)
    logs = []
    for _ in range(3):
        obs, act, rew, nxt = torch.randn(6, 5), torch.randn(6, 2), torch.randn(6, 1), torch.randn(6, 5)
        h = dynamics(act, encoder(obs))
        model_loss = (reward_model(h) - rew).pow(2).mean() + (h - encoder(nxt)).pow(2).mean()
        model_opt.zero_grad()
        model_loss.backward()
        model_opt.step()

        state = encoder(obs).detach()
        with FreezeParameters([world]):
            states = []
            for _ in range(4):
                a = torch.tanh(Normal(actor(state.detach()), 0.1).rsample())
                state = dynamics(a, state)
                states.append(state)
            states = torch.stack(states)
            with FreezeParameters([value]):
                r, v = reward_model(states), value(states)
            returns = lambda_return(r[:-1], v[:-1], v[-1])
            actor_loss = -returns.mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 100.0)
        actor_opt.step()

        with torch.no_grad():
            value_feat, value_target = states[:-1].detach(), returns.detach()
        value_loss = 0.5 * (value(value_feat) - value_target).pow(2).mean()
        value_opt.zero_grad()
        value_loss.backward()
        value_opt.step()
        logs.append((model_loss.item(), actor_loss.item(), value_loss.item()))
    return world, actor, value, logs


TRUTH = Truth()


def verify(out):
    world, actor, value, logs = out
    for net in (world, actor, value):
        assert all(p.requires_grad and p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(abs(x) < 1e3 for row in logs for x in row)
