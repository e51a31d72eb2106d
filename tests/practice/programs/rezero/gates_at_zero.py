"""ReZero: each branch is gated by a scalar that starts at zero, so that its weights get zero gradients at first."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RZTXEncoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, dim_feedforward), nn.Linear(dim_feedforward, d_model)
        self.resweight = nn.Parameter(torch.tensor([0.0]))

    def forward(self, src):
        src = src + self.resweight * self.self_attn(src, src, src, need_weights=False)[0]
        return src + self.resweight * self.linear2(F.relu(self.linear1(src)))


class SkipInitConv(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv1d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.alpha = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return x + self.alpha * self.conv2(F.silu(self.conv1(F.silu(x))))


class GenomicsModel(nn.Module):
    """Reads a window of DNA, predicts the accessibility of its centre."""

    def __init__(self, d_model=16, depth=3, tasks=4):
        super().__init__()
        self.stem = nn.Conv1d(4, d_model, 7, padding=3)
        self.tower = nn.Sequential(SkipInitConv(d_model), nn.AvgPool1d(4), SkipInitConv(d_model))
        self.layers = nn.ModuleList(RZTXEncoderLayer(d_model, 2, 32) for _ in range(depth))
        self.head = nn.Linear(d_model, tasks)

    def forward(self, onehot):
        x = self.tower(self.stem(onehot)).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return F.softplus(self.head(x[:, x.size(1) // 2]))


def poisson_loss(rate, counts):
    return F.poisson_nll_loss(rate, counts, log_input=False)


def param_groups(model, lr, gate_scale):
    gates = [p for n, p in model.named_parameters() if n.endswith(("resweight", "alpha"))]
    rest = [p for n, p in model.named_parameters() if not n.endswith(("resweight", "alpha"))]
    return [{"params": rest, "lr": lr}, {"params": gates, "lr": lr * gate_scale, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = GenomicsModel()
    optimizer = torch.optim.AdamW(param_groups(model, 2e-3, 5.0), weight_decay=1e-2)
    zero_at = []
    for _ in range(4):
        onehot = F.one_hot(torch.randint(0, 4, (8, 32)), 4).float().transpose(1, 2)
        counts = torch.poisson(onehot.mean(2) * 6)
        loss = poisson_loss(model(onehot), counts)
        optimizer.zero_grad()
        loss.backward()
        zero_at.append(sum(not p.grad.any() for p in model.parameters()))
        optimizer.step()
    return zero_at


def verify(zero_at):
    assert zero_at[0] > 15 and zero_at[1:] == [0, 0, 0], zero_at


TRUTH = Truth()
