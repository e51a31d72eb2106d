"""VAE resumed from a checkpoint: the parameters go to the optimizer in another order than when its state was saved."""

import io

import torch
from torch import nn

from tests.practice.truth import Truth


class VAE(nn.Module):
    def __init__(self, x_dim=10, h=16, z=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, h), nn.ReLU(), nn.Linear(h, 2 * z))
        self.decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, x_dim))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (logvar / 2).exp()
        return self.decoder(z), -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()


def train(model, opt, steps):
    for _ in range(steps):
        x = torch.randn(8, 10)
        recon, kl = model(x)
        loss = (recon - x).pow(2).sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()  # symptom
    return loss.item()


def save(model, opt, step):
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": step}, file)
    file.seek(0)
    return file


def resume(file, lr):
    model = VAE()
    ckpt = torch.load(file, weights_only=True)
    model.load_state_dict(ckpt["model"])
    params = [*model.decoder.parameters(), *model.encoder.parameters()]  # cause
    opt = torch.optim.Adam(params, lr=lr)
    opt.load_state_dict(ckpt["optimizer"])  # also
    return model, opt, ckpt["step"]


def run():
    torch.manual_seed(0)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    print("first", train(model, opt, 2))
    file = save(model, opt, 2)
    model, opt, step = resume(file, lr=1e-3)
    print("resumed at", step, train(model, opt, 2))


TRUTH = Truth(
    fault="the optimizer's state is laid on other parameters than it was saved for",
    raises="The size of tensor a",
    names=("load_state_dict",),
    repair=("params = list(model.parameters())",),
)
