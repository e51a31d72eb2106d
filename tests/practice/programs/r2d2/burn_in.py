"""R2D2: the recurrent state is warmed up without gradients, and only the rest of the sequence is learnt from."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def h(x, eps=1e-3):
    return x.sign() * ((x.abs() + 1).sqrt() - 1) + eps * x


def h_inverse(x, eps=1e-3):
    return x.sign() * ((((1 + 4 * eps * (x.abs() + 1 + eps)).sqrt() - 1) / (2 * eps)) ** 2 - 1)


class RecurrentQNet(nn.Module):
    def __init__(self, obs=5, actions=3, hidden=16):
        super().__init__()
        self.encoder, self.lstm = nn.Linear(obs, hidden), nn.LSTM(hidden, hidden, batch_first=True)
        self.value, self.advantage = nn.Linear(hidden, 1), nn.Linear(hidden, actions)

    def forward(self, obs, state):
        x, state = self.lstm(F.relu(self.encoder(obs)), state)
        adv = self.advantage(x)
        return self.value(x) + adv - adv.mean(-1, keepdim=True), state


class SequenceReplay:
    def __init__(self):
        self.items, self.priorities = [], []

    def add(self, sequence, priority):
        self.items.append(sequence)
        self.priorities.append(priority)

    def sample(self, n):
        p = torch.tensor(self.priorities) ** 0.9
        idx = torch.multinomial(p / p.sum(), n, replacement=False)
        return idx, [torch.stack(part) for part in zip(*(self.items[i] for i in idx))]


@torch.no_grad()
def act(net, length, hidden=16):
    first = state = (torch.zeros(1, 1, hidden), torch.zeros(1, 1, hidden))
    obs, actions = torch.randn(length, 5), []
    for t in range(length):
        q, state = net(obs[None, t : t + 1], state)
        actions.append(q[0, 0].argmax() if torch.rand(()) > 0.3 else torch.randint(0, 3, ()))
    actions = torch.stack(actions)
    return obs, actions, (actions == 1).float() * obs[:, 0], first[0][0, 0], first[1][0, 0]


def learn(net, target, optimizer, batch, burn_in=4, gamma=0.97):
    obs, actions, rewards, h0, c0 = batch
    state = (h0[None].contiguous(), c0[None].contiguous())
    with torch.no_grad():
        online_state, target_state = (q(obs[:, :burn_in], state)[1] for q in (net, target))
    q, _ = net(obs[:, burn_in:], online_state)
    with torch.no_grad():
        best = q.argmax(-1, keepdim=True)
        q_target, _ = target(obs[:, burn_in:], target_state)
        backup = h(rewards[:, burn_in:-1] + gamma * h_inverse(q_target.gather(-1, best).squeeze(-1)[:, 1:]))
    td = backup - q.gather(-1, actions[:, burn_in:, None]).squeeze(-1)[:, :-1]
    loss = 0.5 * td.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 40.0)
    optimizer.step()
    return (0.9 * td.abs().amax(1) + 0.1 * td.abs().mean(1)).tolist()


def run():
    torch.manual_seed(0)
    net, replay = RecurrentQNet(), SequenceReplay()
    target = copy.deepcopy(net).requires_grad_(False)
    start = [p.detach().clone() for p in net.parameters()]
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-3)
    for step in range(6):
        replay.add(act(net, 12), max(replay.priorities, default=1.0))
        if step >= 2:
            idx, batch = replay.sample(2)
            for i, priority in zip(idx.tolist(), learn(net, target, optimizer, batch)):
                replay.priorities[i] = priority
    return [not torch.equal(p, s) for p, s in zip(net.parameters(), start)]


def verify(moved):
    assert all(moved)


TRUTH = Truth()
