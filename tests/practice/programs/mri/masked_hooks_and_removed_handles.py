"""MRI reconstruction: hooks that mask gradients, in-place writes of measured k-space, handles taken off in between. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


class DataConsistency(nn.Module):
    """What was measured is written over what was guessed."""

    def forward(self, image, kspace, mask):
        guess = torch.fft.fft(image, norm="ortho")
        guess = guess.clone()
        guess[mask] = kspace[mask]
        return torch.fft.ifft(guess, norm="ortho").real


class Cascade(nn.Module):
    def __init__(self, stages=2):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv1d(1, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv1d(6, 1, 3, padding=1))
            for _ in range(stages)
        )
        self.consistency = DataConsistency()

    def forward(self, kspace, mask):
        image = torch.fft.ifft(kspace, norm="ortho").real
        for stage in self.stages:
            image = image + stage(image.unsqueeze(1)).squeeze(1)
            image = self.consistency(image, kspace, mask)
        return image


def symmetric_kernels(model):
    """Keeps the first convolutions mirror-symmetric by symmetrising their gradients."""
    handles = []
    for stage in model.stages:
        stage[0].weight.data.add_(stage[0].weight.data.flip(-1)).mul_(0.5)
        handles.append(stage[0].weight.register_hook(lambda g: 0.5 * (g + g.flip(-1))))
    return handles


def scans(n, size=16):
    x = torch.arange(size) / size
    image = torch.exp(-((x - 0.3 - 0.4 * torch.rand(n, 1)) / 0.15) ** 2)
    mask = torch.rand(n, size) < 0.5
    mask[:, 0] = True
    return torch.fft.fft(image, norm="ortho") * mask, mask, image


def run():
    torch.manual_seed(0)
    model = Cascade()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    kspace, mask, image = scans(12)
    losses, asymmetry = [], []
    handles = symmetric_kernels(model)
    for step in range(5):
        if step == 3:
            for handle in handles:
                handle.remove()
        loss = (model(kspace, mask) - image).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        w = model.stages[0][0].weight.detach()
        asymmetry.append((w - w.flip(-1)).abs().max().item())
    return start, list(model.parameters()), losses, asymmetry


def verify(outcome):
    start, now, losses, asymmetry = outcome
    assert all(not torch.equal(a, b) for a, b in zip(start, now))
    assert max(asymmetry[:3]) < 1e-6 < asymmetry[-1]
    assert losses[-1] < losses[0]


TRUTH = Truth()
