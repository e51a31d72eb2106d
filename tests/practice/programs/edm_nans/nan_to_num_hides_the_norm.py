"""EDM-like: gradients are passed through nan_to_num, which hides that a norm of a zero vector makes them all NaN."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

P_MEAN, P_STD, SIGMA_DATA = -1.2, 1.2, 0.5


class UNet(nn.Module):
    def __init__(self, dim=8, label_dim=4):
        super().__init__()
        self.label_emb = nn.Linear(label_dim, 16, bias=False)
        self.map_noise = nn.Linear(1, 16)
        self.enc = nn.Linear(dim, 16)
        self.mid = nn.Linear(16, 16)
        self.out = nn.Linear(16, dim)

    def forward(self, x, c_noise, labels):
        cond = self.label_emb(labels)
        cond = cond / cond.pow(2).sum(1, keepdim=True).sqrt().clamp(min=1e-4)  # cause
        h = self.enc(x) + self.map_noise(c_noise).sin() + cond
        return self.out(self.mid(h.relu()).relu())


class EDMPrecond(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = UNet()

    def forward(self, x, sigma, labels):
        c_skip = SIGMA_DATA**2 / (sigma**2 + SIGMA_DATA**2)
        c_out = sigma * SIGMA_DATA / (sigma**2 + SIGMA_DATA**2).sqrt()
        c_in = 1 / (sigma**2 + SIGMA_DATA**2).sqrt()
        return c_skip * x + c_out * self.model(c_in * x, sigma.log() / 4, labels)


class EDMLoss:
    def __call__(self, net, images, labels):
        sigma = (torch.randn(len(images), 1) * P_STD + P_MEAN).exp()
        weight = (sigma**2 + SIGMA_DATA**2) / (sigma * SIGMA_DATA) ** 2
        denoised = net(images + torch.randn_like(images) * sigma, sigma, labels)
        return weight * (denoised - images) ** 2


def run():
    torch.manual_seed(0)
    net = EDMPrecond()
    loss_fn = EDMLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    losses = []
    for _ in range(4):
        images = torch.randn(16, 8) * SIGMA_DATA
        labels = torch.eye(4)[torch.randint(0, 4, (16,))]
        labels[:3] = 0.0  # classifier-free guidance: no label
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(net, images, labels).sum() / len(images)
        loss.backward()
        for param in net.parameters():
            if param.grad is not None:
                torch.nan_to_num(param.grad, nan=0, posinf=1e5, neginf=-1e5, out=param.grad)  # also
        optimizer.step()
        losses.append(loss.item())
    return losses, {n: (p.detach() - start[n]).abs().max().item() for n, p in net.named_parameters()}


def verify(outcome):
    losses, moved = outcome
    assert all(x == x for x in losses)
    assert moved["model.label_emb.weight"] == 0.0
    assert moved["model.enc.weight"] > 0.0


TRUTH = Truth(
    fault="the normalisation of an all-zero label gives NaN gradients for label_emb, and nan_to_num turns them into zeros at each step",
    names=("label_emb",),
    values=True,
    repair=("cond = cond / (cond.pow(2).sum(1, keepdim=True) + 1e-8).sqrt()",),
)
