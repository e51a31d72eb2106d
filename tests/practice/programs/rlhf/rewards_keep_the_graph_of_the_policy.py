"""The KL penalty is part of the reward, and the reward still has the policy's graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy, reference = nn.Linear(4, 6), nn.Linear(4, 6).requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    prompts = torch.randn(16, 4)
    with torch.no_grad():
        tokens = policy(prompts).softmax(-1).multinomial(1)
    scores = torch.randn(16)
    logp = policy(prompts).log_softmax(-1).gather(1, tokens).squeeze(1)
    ref_logp = reference(prompts).log_softmax(-1).gather(1, tokens).squeeze(1)
    rewards = scores - 0.5 * (logp - ref_logp)  # cause
    advantages = rewards - rewards.mean()
    loss = -(advantages * logp).mean()  # also
    surrogate = -(advantages.detach() * logp).mean()
    wanted = torch.autograd.grad(surrogate, policy.weight, retain_graph=True)[0]
    opt.zero_grad()
    loss.backward()
    opt.step()
    return (policy.weight.grad - wanted).abs().max().item()


def verify(out):
    assert out > 1e-4


TRUTH = Truth(fault="the advantage is differentiated", repair=("rewards = scores - 0.5 * (logp.detach() - ref_logp)",))
