"""Graph WaveNet: the adaptive adjacency is computed once, in __init__, and its graph is walked twice."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class nconv(nn.Module):
    def forward(self, x, A):
        return torch.einsum("ncvl,vw->ncwl", x, A).contiguous()


class gcn(nn.Module):
    def __init__(self, c_in, c_out, support_len, order=2):
        super().__init__()
        self.nconv, self.order = nconv(), order
        self.mlp = nn.Conv2d((order * support_len + 1) * c_in, c_out, 1)

    def forward(self, x, support):
        out = [x]
        for a in support:
            x1 = self.nconv(x, a)
            out.append(x1)
            for _ in range(2, self.order + 1):
                x1 = self.nconv(x1, a)
                out.append(x1)
        return self.mlp(torch.cat(out, dim=1))


class gwnet(nn.Module):
    def __init__(self, num_nodes, supports, channels=6, layers=2, out_dim=3):
        super().__init__()
        self.nodevec1 = nn.Parameter(torch.randn(num_nodes, 4))
        self.nodevec2 = nn.Parameter(torch.randn(4, num_nodes))
        self.adp = F.softmax(F.relu(torch.mm(self.nodevec1, self.nodevec2)), dim=1)  # also
        self.supports = supports
        self.start_conv = nn.Conv2d(2, channels, 1)
        self.filter_convs = nn.ModuleList([nn.Conv2d(channels, channels, (1, 2)) for _ in range(layers)])
        self.gate_convs = nn.ModuleList([nn.Conv2d(channels, channels, (1, 2)) for _ in range(layers)])
        self.gconv = nn.ModuleList([gcn(channels, channels, len(supports) + 1) for _ in range(layers)])
        self.end_conv = nn.Conv2d(channels, out_dim, 1)

    def forward(self, x):
        x = self.start_conv(x)
        supports = [*self.supports, self.adp]  # cause
        for f, g, conv in zip(self.filter_convs, self.gate_convs, self.gconv):
            residual = x
            x = torch.tanh(f(x)) * torch.sigmoid(g(x))
            x = conv(x, supports) + residual[:, :, :, -x.size(3) :]
        return self.end_conv(F.relu(x))[:, :, :, -1]


def masked_mae(preds, labels, null_val=0.0):
    mask = (labels != null_val).float()
    mask = mask / mask.mean()
    return ((preds - labels).abs() * mask).mean()


class trainer:
    def __init__(self, num_nodes):
        supports = [torch.rand(num_nodes, num_nodes).softmax(1)]
        self.model = gwnet(num_nodes, supports)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, weight_decay=1e-4)

    def train(self, inputs, real_val):
        self.model.train()
        self.optimizer.zero_grad()
        loss = masked_mae(self.model(inputs), real_val)
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(self.model.parameters(), 5)
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    engine = trainer(num_nodes=5)
    return [engine.train(torch.randn(4, 2, 5, 4), torch.rand(4, 3, 5)) for _ in range(3)]


TRUTH = Truth(
    fault="the adjacency of the node vectors is made once in __init__; the second backward meets its freed graph",
    raises="Trying to backward through the graph a second time",
    names=("adp",),
    repair=("supports = [*self.supports, F.softmax(F.relu(torch.mm(self.nodevec1, self.nodevec2)), dim=1)]",),
)
