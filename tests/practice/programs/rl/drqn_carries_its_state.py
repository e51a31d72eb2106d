"""A recurrent Q-network keeps its hidden state from one update to the next."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RecurrentQ(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.fc = nn.Linear(3, hidden)
        self.gru = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, 2)
        self.hidden = hidden
        self.h = None

    def init_hidden(self, batch):
        self.h = torch.zeros(batch, self.hidden)

    def forward(self, obs):
        self.h = self.gru(torch.relu(self.fc(obs)), self.h)  # also
        return self.out(self.h)


def train_sequence(net, optimizer, batch):
    losses = []  # cause
    for obs, action, target in batch:
        q = net(obs).gather(1, action).squeeze(1)
        losses.append((q - target).pow(2).mean())
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()  # symptom
    optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    net = RecurrentQ()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    net.init_hidden(4)
    for _ in range(3):
        batch = [(torch.randn(4, 3), torch.randint(2, (4, 1)), torch.randn(4)) for _ in range(5)]
        train_sequence(net, optimizer, batch)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)


TRUTH = Truth(
    fault="the hidden state carries the graph of the update before",
    raises="Trying to backward through the graph a second time",
    names=("h",),
    repair=("losses, net.h = [], net.h.detach()",),
)
