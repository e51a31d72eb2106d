"""A reward model: the chosen and rejected rewards leave torch before the loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Embedding(10, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, tokens):
        return self.head(self.trunk(tokens).mean(1)).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = RewardModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    chosen, rejected = torch.randint(0, 10, (4, 6)), torch.randint(0, 10, (4, 6))
    rewards = model(torch.cat([chosen, rejected]))
    margins = torch.tensor([a - b for a, b in zip(rewards[:4].tolist(), rewards[4:].tolist(), strict=True)])  # cause
    loss = -nn.functional.logsigmoid(margins).mean()
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()


TRUTH = Truth(
    fault="the rewards are made into numbers",
    raises="element 0 of tensors does not require grad",
    repair=("margins = rewards[:4] - rewards[4:]",),
)
