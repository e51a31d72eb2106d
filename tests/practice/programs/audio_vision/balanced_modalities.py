"""Gradient modulation (OGM-GE) for audio and video: the gradients are scaled once the optimizer has used them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AudioVisual(nn.Module):
    def __init__(self, dim=8, classes=4):
        super().__init__()
        self.audio_net = nn.Sequential(nn.Linear(10, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.visual_net = nn.Sequential(nn.Conv2d(3, dim, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fusion = nn.Linear(2 * dim, classes)

    def forward(self, spec, frames):
        a, v = self.audio_net(spec), self.visual_net(frames)
        return a, v, self.fusion(torch.cat([a, v], dim=1))


class ModulatedTrainer:
    """Slows the modality down that is ahead (Peng et al. 2022)."""

    def __init__(self, model, alpha):
        self.model, self.alpha = model, alpha
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    @torch.no_grad()
    def scores(self, a, v, y):
        half = a.shape[1]
        w, b = self.model.fusion.weight, self.model.fusion.bias / 2
        out_a, out_v = a @ w[:, :half].T + b, v @ w[:, half:].T + b
        return [out.softmax(1).gather(1, y[:, None]).sum() for out in (out_a, out_v)]

    def modulate(self, score_a, score_v):
        ratio = score_v / score_a
        ahead = "visual_net" if ratio > 1 else "audio_net"
        coeff = 1 - self.alpha * torch.tanh(F.relu(torch.maximum(ratio, 1 / ratio)))
        for name, p in self.model.named_parameters():
            if name.startswith(ahead):
                p.grad.mul_(coeff)

    def step(self, spec, frames, y):
        a, v, logits = self.model(spec, frames)
        loss = F.cross_entropy(logits, y)
        self.opt.zero_grad()
        loss.backward()
        score_a, score_v = self.scores(a, v, y)
        self.opt.step()  # cause
        self.modulate(score_a, score_v)  # also
        return loss.item()


def experiment(alpha):
    torch.manual_seed(0)
    trainer = ModulatedTrainer(AudioVisual(), alpha)
    for step in range(4):
        y = torch.randint(0, 4, (8,))
        spec = torch.randn(8, 10) + y[:, None]
        loss = trainer.step(spec, torch.rand(8, 3, 6, 6), y)
        print(f"alpha {alpha} step {step} loss {loss:.4f}")  # symptom
    return trainer.model


def run():
    return experiment(alpha=0.0), experiment(alpha=0.8)


def verify(out):
    plain, modulated = out
    assert all(torch.equal(p, q) for p, q in zip(plain.parameters(), modulated.parameters()))


TRUTH = Truth(
    fault="gradients are modulated after the step that was to use them",
    names=("grad", "modulate"),
    repair=("self.modulate(score_a, score_v)\nself.opt.step()",),
)
