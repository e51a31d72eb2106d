import torch
from torch import nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 6)
        self.linear = nn.Linear(6, 1)

    def forward(self, input):
        outputs = []
        h_t, c_t = torch.zeros(input.size(0), 6), torch.zeros(input.size(0), 6)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            output = self.linear(h_t)
            outputs.append(output)
        return torch.cat(outputs, dim=1)


def run():
    x = torch.sin(torch.arange(12).float()[None] + torch.rand(3, 1) * 6)
    seq = Sequence()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=3)
    history = []
    for i in range(3):

        def closure():
            optimizer.zero_grad()
            out = seq(x[:, :-1])
            loss = criterion(out, x[:, 1:])
            loss.backward()
            return loss

        history.append(optimizer.step(closure).item())
        with torch.no_grad():
            pred = seq(x)
    return seq, history, pred
