"""A3C: the shared gradients are handed over once only; zero_grad sets the local ones to None, so they go stale."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(4, 8)
        self.actor = nn.Linear(8, 2)
        self.critic = nn.Linear(8, 1)

    def forward(self, obs, state):
        h, c = self.lstm(obs, state)
        return self.actor(h), self.critic(h), (h, c)


def ensure_shared_grads(model, shared):
    for p, sp in zip(model.parameters(), shared.parameters()):
        if sp.grad is not None:  # cause
            return  # also
        sp._grad = p.grad  # also


def run():
    torch.manual_seed(0)
    shared, model = Net(), Net()
    opt = torch.optim.Adam(shared.parameters(), lr=1e-3)
    state = (torch.zeros(1, 8), torch.zeros(1, 8))
    for _ in range(3):
        model.load_state_dict(shared.state_dict())
        state = tuple(s.detach() for s in state)
        log_probs, values, rewards, entropies = [], [], [], []
        for _t in range(5):
            logits, value, state = model(torch.randn(1, 4), state)
            dist = Categorical(logits=logits)
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            entropies.append(dist.entropy())
            values.append(value.squeeze(1))
            rewards.append(float(action.item() == 1))
        ret, policy_loss, value_loss = torch.zeros(1), 0, 0
        for t in reversed(range(5)):
            ret = rewards[t] + 0.99 * ret
            adv = ret - values[t]
            value_loss = value_loss + 0.5 * adv.pow(2)
            policy_loss = policy_loss - log_probs[t] * adv.detach() - 0.01 * entropies[t]
        model.zero_grad()  # also
        (policy_loss + 0.5 * value_loss).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 40)
        ensure_shared_grads(model, shared)
        opt.step()
    return model, shared


def verify(out):
    model, shared = out
    assert not torch.equal(model.actor.weight.grad, shared.actor.weight.grad)


TRUTH = Truth(
    fault="the shared model steps with the first gradient for ever",
    names=("shared",),
    repair=("if sp.grad is p.grad:",),
)
