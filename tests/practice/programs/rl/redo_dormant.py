"""Reinforcement learning: dormant neurons are re-initialised in place and their Adam moments cleared, statistics come from hooks that are removed; healthy."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class QNetwork(nn.Module):
    def __init__(self, obs=6, actions=3, hidden=16):
        super().__init__()
        self.fc1, self.fc2, self.q = nn.Linear(obs, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, actions)

    def forward(self, x):
        return self.q(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Activations:
    """Activations of the named layers while the block runs."""

    def __init__(self, model, names):
        self.model, self.names, self.store = model, names, {}

    def __enter__(self):
        def hook(name):
            return lambda module, args, output: self.store.__setitem__(name, F.relu(output.detach()))

        self.handles = [getattr(self.model, n).register_forward_hook(hook(n)) for n in self.names]
        return self

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()


def redo_masks(store, tau):
    masks = {}
    for name, act in store.items():
        score = act.abs().mean(0)
        masks[name] = (score / (score.mean() + 1e-9)) <= tau
    return masks


@torch.no_grad()
def reset_neurons(model, masks, chain):
    for current, following in zip(chain, chain[1:]):
        mask = masks[current]
        layer, nxt = getattr(model, current), getattr(model, following)
        fresh = torch.empty_like(layer.weight)
        nn.init.kaiming_uniform_(fresh, a=math.sqrt(5))
        layer.weight.data[mask] = fresh[mask]
        layer.bias.data[mask] = 0.0
        nxt.weight.data[:, mask] = 0.0


@torch.no_grad()
def reset_moments(optimizer, model, masks, chain):
    for current, following in zip(chain, chain[1:]):
        mask = masks[current]
        layer, nxt = getattr(model, current), getattr(model, following)
        for key in ("exp_avg", "exp_avg_sq"):
            optimizer.state[layer.weight][key][mask] = 0.0
            optimizer.state[layer.bias][key][mask] = 0.0
            optimizer.state[nxt.weight][key][:, mask] = 0.0


def redo(model, optimizer, obs, tau=0.3, chain=("fc1", "fc2", "q")):
    with torch.no_grad(), Activations(model, chain[:-1]) as seen:
        model(obs)
    masks = redo_masks(seen.store, tau)
    reset_neurons(model, masks, chain)
    reset_moments(optimizer, model, masks, chain)
    return {n: int(m.sum()) for n, m in masks.items()}


def td_loss(q, target, batch, gamma=0.99):
    obs, actions, rewards, next_obs, dones = batch
    with torch.no_grad():
        td_target = rewards + gamma * target(next_obs).max(1).values * (1 - dones)
    return F.mse_loss(td_target, q(obs).gather(1, actions[:, None]).squeeze(1))


def sample(n=16):
    return (
        torch.randn(n, 6),
        torch.randint(0, 3, (n,)),
        torch.randn(n),
        torch.randn(n, 6),
        (torch.rand(n) > 0.9).float(),
    )


def run():
    torch.manual_seed(1)
    q = QNetwork()
    target = copy.deepcopy(q).requires_grad_(False)
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in q.named_parameters()}
    counts, weights = [], []
    for step in range(5):
        batch = sample()
        loss = td_loss(q, target, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 1:
            counts.append(redo(q, optimizer, batch[0]))
            with torch.no_grad():
                for t, p in zip(target.parameters(), q.parameters()):
                    t.copy_(0.5 * t + 0.5 * p)
    return before, q, target, counts


def verify(outcome):
    before, q, target, counts = outcome
    assert all(not torch.equal(p, before[n]) for n, p in q.named_parameters())
    assert all(not torch.equal(p, before[n]) for n, p in target.named_parameters())
    assert not any(m._forward_hooks for m in q.modules()) and sum(counts[0].values()) > 0


TRUTH = Truth()
