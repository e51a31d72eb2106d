"""RAFT: the flow is moved in place to save memory, while the motion encoder has kept it for its backward."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def coords_grid(batch, ht, wd):
    y, x = torch.meshgrid(torch.arange(ht), torch.arange(wd), indexing="ij")
    return torch.stack([x, y]).float()[None].repeat(batch, 1, 1, 1)


class CorrBlock:
    def __init__(self, fmap1, fmap2, radius=1):
        b, c, h, w = fmap1.shape
        corr = torch.einsum("bchw,bcij->bhwij", fmap1, fmap2) / c**0.5
        self.corr, self.radius = corr.reshape(b * h * w, 1, h, w), radius

    def __call__(self, coords):
        b, _, h, w = coords.shape
        d = torch.arange(-self.radius, self.radius + 1).float()
        delta = torch.stack(torch.meshgrid(d, d, indexing="ij"), -1)[None]
        centroid = coords.permute(0, 2, 3, 1).reshape(b * h * w, 1, 1, 2)
        size = torch.tensor([w - 1, h - 1])
        grid = 2 * (centroid + delta) / size - 1
        return F.grid_sample(self.corr, grid, align_corners=True).view(b, h, w, -1).permute(0, 3, 1, 2)


class UpdateBlock(nn.Module):
    def __init__(self, corr_planes=9, hidden=16):
        super().__init__()
        self.convc, self.convf = nn.Conv2d(corr_planes, 8, 1), nn.Conv2d(2, 8, 3, padding=1)
        self.convz, self.convq = (nn.Conv2d(hidden + 16, hidden, 3, padding=1) for _ in range(2))
        self.flow_head = nn.Conv2d(hidden, 2, 3, padding=1)

    def forward(self, net, corr, flow):
        x = F.relu(torch.cat([self.convc(corr), self.convf(flow)], 1))
        z = torch.sigmoid(self.convz(torch.cat([net, x], 1)))
        net = (1 - z) * net + z * torch.tanh(self.convq(torch.cat([net, x], 1)))
        return net, self.flow_head(net)


class RAFT(nn.Module):
    def __init__(self, dim=12, hidden=16):
        super().__init__()
        self.fnet = nn.Sequential(nn.Conv2d(3, dim, 3, 2, 1), nn.ReLU(), nn.Conv2d(dim, dim, 3, 1, 1))
        self.cnet, self.update_block = nn.Conv2d(3, hidden, 3, 2, 1), UpdateBlock(hidden=hidden)

    def forward(self, image1, image2, iters=3):
        fmap1, fmap2 = self.fnet(image1), self.fnet(image2)
        corr_fn, net = CorrBlock(fmap1, fmap2), torch.tanh(self.cnet(image1))
        b, _, h, w = fmap1.shape
        coords0, flow = coords_grid(b, h, w), torch.zeros(b, 2, h, w)
        flow_predictions = []
        for _ in range(iters):
            flow = flow.detach()
            corr = corr_fn(coords0 + flow)
            net, delta_flow = self.update_block(net, corr, flow)
            flow += delta_flow  # cause
            flow_predictions.append(2 * F.interpolate(flow, scale_factor=2, mode="bilinear"))
        return flow_predictions


def sequence_loss(flow_preds, flow_gt, gamma=0.8):
    n = len(flow_preds)
    return sum(gamma ** (n - i - 1) * (p - flow_gt).abs().mean() for i, p in enumerate(flow_preds))


def run():
    torch.manual_seed(0)
    model = RAFT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = sequence_loss(model(torch.rand(2, 3, 12, 12), torch.rand(2, 3, 12, 12)), torch.randn(2, 2, 12, 12))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="flow is changed in place, though the convolution over it has saved it for its weight's gradient",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("flow",),
    repair=("flow = flow + delta_flow",),
)
