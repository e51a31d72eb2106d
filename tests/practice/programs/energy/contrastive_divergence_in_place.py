"""Contrastive divergence: Langevin steps change the sample's data in place and clear its gradient by hand."""

import torch
from torch import nn

from tests.practice.truth import Truth


class CNNEnergy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 3, 2, 1), nn.SiLU(), nn.Flatten(), nn.Linear(96, 16), nn.SiLU(), nn.Linear(16, 1)
        )

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def generate_samples(model, inp_imgs, steps=5, step_size=2.0):
    is_training = model.training
    model.eval()
    for p in model.parameters():
        p.requires_grad = False
    inp_imgs = inp_imgs.clone()
    inp_imgs.requires_grad = True
    had = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    noise = torch.randn(inp_imgs.shape)
    for _ in range(steps):
        noise.normal_(0, 0.005)
        inp_imgs.data.add_(noise.data)
        inp_imgs.data.clamp_(min=-1.0, max=1.0)
        out = -model(inp_imgs)
        out.sum().backward()
        inp_imgs.grad.data.clamp_(-0.03, 0.03)
        inp_imgs.data.add_(-step_size * inp_imgs.grad.data)
        inp_imgs.grad.detach_()
        inp_imgs.grad.zero_()
        inp_imgs.data.clamp_(min=-1.0, max=1.0)
    for p in model.parameters():
        p.requires_grad = True
    model.train(is_training)
    torch.set_grad_enabled(had)
    return inp_imgs.detach()


def run():
    torch.manual_seed(0)
    model = CNNEnergy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.999))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.97)
    examples = torch.rand(12, 1, 8, 8) * 2 - 1
    log = []
    for _ in range(3):
        real = torch.rand(4, 1, 8, 8)
        real.add_(torch.randn_like(real) * 0.005).clamp_(-1, 1)
        fake = generate_samples(model, examples[torch.randint(12, (4,))])
        examples = torch.cat([fake, examples])[:12]
        real_out, fake_out = model(torch.cat([real, fake])).chunk(2)
        reg_loss = 0.1 * (real_out**2 + fake_out**2).mean()
        loss = reg_loss + fake_out.mean() - real_out.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        scheduler.step()
        log.append(loss.item())
    return model, examples, log


TRUTH = Truth()


def verify(out):
    model, examples, log = out
    assert all(p.requires_grad and p.grad.abs().sum() > 0 for p in model.parameters())
    assert not examples.requires_grad and examples.grad is None and all(abs(v) < 100 for v in log)
