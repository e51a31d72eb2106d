"""'EMA model is as bad as a random one': parameters are averaged, but the batch-norm statistics of the EMA copy stay those of the first minute."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model)
        self.model.requires_grad_(False)
        self.model.eval()

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):  # cause
            e.lerp_(p, 1 - self.decay)


class Denoiser(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.head = nn.Conv1d(1, ch, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(ch)
        self.mid = nn.Conv1d(ch, ch, 5, padding=2)
        self.bn2 = nn.BatchNorm1d(ch)
        self.tail = nn.Conv1d(ch, 1, 5, padding=2)

    def forward(self, x):
        h = torch.relu(self.bn1(self.head(x)))
        h = h + torch.relu(self.bn2(self.mid(h)))
        return x - self.tail(h)


def signal(n, length=20):
    t = torch.linspace(0, 6, length)
    phase = torch.rand(n, 1) * 6
    clean = 10 * torch.sin(t + phase).unsqueeze(1) + 30
    return clean + torch.randn_like(clean), clean


def run():
    torch.manual_seed(0)
    net = Denoiser()
    ema = EMA(net, decay=0.5)
    opt = torch.optim.RAdam(net.parameters(), lr=1e-3)
    for it in range(4):
        net.train()
        noisy, clean = signal(8)
        loss = (net(noisy) - clean).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)
    return net.state_dict(), ema.model.state_dict()


def verify(outcome):
    raw, avg = outcome
    assert raw["bn1.num_batches_tracked"] == 4
    assert (avg["bn1.running_mean"] == 0).all() and (avg["bn2.running_var"] == 1).all()
    assert (raw["bn1.running_mean"] != 0).all()


TRUTH = Truth(
    fault="the EMA goes over parameters() only, so the running statistics of its batch norms are never updated",
    names=("running_mean",),
    repair=(
        "for e, b in zip(self.model.buffers(), model.buffers()):\n    e.copy_(b)\nfor e, p in zip(self.model.parameters(), model.parameters()):",
    ),
)
