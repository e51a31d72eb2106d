"""TRPO: conjugate gradients on a Fisher product through a KL to a detached copy of itself, then a line search on data."""

import torch
from torch import nn
from torch.distributions import Categorical, kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def fisher_product(policy, obs, v, damping=0.1):
    logits = policy(obs)
    kl = kl_divergence(Categorical(logits=logits.detach()), Categorical(logits=logits)).mean()
    g = flat(torch.autograd.grad(kl, list(policy.parameters()), create_graph=True))
    return flat(torch.autograd.grad(g @ v, list(policy.parameters()))) + damping * v


def conjugate_gradient(product, b, steps=5):
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = r @ r
    for _ in range(steps):
        Ap = product(p)
        alpha = rr / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x


def run():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 3))
    delta, log = 0.01, []
    for _ in range(2):
        obs = torch.randn(32, 4)
        with torch.no_grad():
            old = Categorical(logits=policy(obs))
            actions = old.sample()
            logp_old = old.log_prob(actions)
        adv = (actions == obs[:, :3].argmax(1)).float()
        adv -= adv.mean()
        surrogate = lambda: ((Categorical(logits=policy(obs)).log_prob(actions) - logp_old).exp() * adv).mean()
        g = flat(torch.autograd.grad(surrogate(), list(policy.parameters())))
        direction = conjugate_gradient(lambda v: fisher_product(policy, obs, v), g)
        scale = torch.sqrt(2 * delta / (direction @ fisher_product(policy, obs, direction)))
        theta, accepted = parameters_to_vector(policy.parameters()).detach().clone(), False
        with torch.no_grad():
            before = surrogate().item()
            for k in range(8):
                vector_to_parameters(theta + 0.7**k * scale * direction, policy.parameters())
                kl = kl_divergence(old, Categorical(logits=policy(obs))).mean().item()
                if kl <= delta and surrogate().item() > before:
                    accepted = True
                    break
            if not accepted:
                vector_to_parameters(theta, policy.parameters())
        log.append((before, surrogate().item(), kl, accepted))
    return policy, log


TRUTH = Truth()


def verify(out):
    policy, log = out
    assert all(after > before and kl <= 0.01 for before, after, kl, accepted in log if accepted)
    assert any(row[3] for row in log) and all(p.grad is None and p.is_leaf for p in policy.parameters())
