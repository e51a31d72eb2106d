"""A hand-written training loop that is inspected step by step."""

import torch
from torch import nn

from autograd_inspector.integrations.stepwise import Stepwise


class Loop:
    """A training loop with an inspector."""

    def __init__(self, folder, **options):
        self.told = []
        self.steps = Stepwise(lambda *told: self.told.append(told), options, told_of_rest=True)
        self.steps.start(folder, main=options.pop("main", True))
        torch.manual_seed(2)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def run(self, count, spoil=0, raising=None):
        for step in range(1, count + 1):
            self.steps.begin(step, [self.model], [self.optimizer])
            hidden = self.model[:2](torch.ones(2, 3))
            loss = self.model[2](hidden).sum()
            if step == spoil:
                hidden.add_(1)
                if raising:
                    raise raising
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.steps.end()
        self.steps.rest()  # As a trainer does at the end of an epoch.

    @property
    def reported(self):
        return [step for step, _, _ in self.told]
