"""A decoder writes each step into a tensor of outputs, and reads the next step's input from it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Seq2Seq(nn.Module):
    def __init__(self, features=4, hidden=20):
        super().__init__()
        self.encoder = nn.GRU(features, hidden, batch_first=True)
        self.cell = nn.GRUCell(1, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, horizon):
        _, h = self.encoder(x)
        h = h.squeeze(0)
        outputs = x.new_zeros(len(x), horizon, 1)
        step = x[:, -1, :1]
        for t in range(horizon):
            h = self.cell(step, h)
            outputs[:, t] = self.head(h)
            step = outputs[:, t]  # cause
        return outputs.squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Seq2Seq()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.SmoothL1Loss()
    for epoch in range(2):
        total = 0.0
        for _ in range(3):
            x, y = torch.randn(8, 12, 4), torch.randn(8, 5)
            opt.zero_grad()
            loss = criterion(model(x, 5), y)
            loss.backward()  # symptom
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / 3:.4f}")


TRUTH = Truth(
    fault="the cell saves a view of the buffer, which the next step writes into",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    repair=("step = outputs[:, t].clone()",),
)
