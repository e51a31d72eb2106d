"""A saliency map is logged between backward and step, and clears the gradients as it leaves."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ECGNet(nn.Module):
    def __init__(self, leads=2, classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(leads, 6, 7, padding=3)
        self.conv2 = nn.Conv1d(6, 8, 5, padding=2)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        return self.fc(F.relu(self.conv2(F.max_pool1d(x, 2))).mean(2))


class SaliencyLogger:
    """The gradient of the class score with respect to the signal, smoothed (SmoothGrad)."""

    def __init__(self, samples=2, sigma=0.1):
        self.samples, self.sigma, self.maps = samples, sigma, []

    def attribute(self, model, x, target):
        total = torch.zeros_like(x)
        for _ in range(self.samples):
            noisy = (x + self.sigma * torch.randn_like(x)).requires_grad_()
            score = model(noisy).gather(1, target[:, None]).sum()
            (grad,) = torch.autograd.grad(score, noisy)
            total += grad.abs()
        return total / self.samples

    def __call__(self, model, x, target):
        training = model.training
        model.eval()
        self.maps.append(self.attribute(model, x, target).mean(1))
        # leave no gradients of ours behind
        model.zero_grad()  # cause
        model.train(training)


class Trainer:
    def __init__(self, model, logger, log_every=1, lr=1e-2):
        self.model, self.logger, self.log_every = model, logger, log_every
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters=4)
        self.global_step = 0

    def training_step(self, x, y):
        self.model.train()
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        if self.global_step % self.log_every == 0:
            self.logger(self.model, x[:2], y[:2])
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.global_step += 1
        return loss.item()


def run():
    torch.manual_seed(0)
    model = ECGNet()
    trainer = Trainer(model, SaliencyLogger())
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        trainer.training_step(torch.randn(6, 2, 32), torch.randint(0, 3, (6,)))
    return [torch.equal(s, p) for s, p in zip(start, model.parameters())]


def verify(outcome):
    assert all(outcome), outcome


TRUTH = Truth(
    fault="the saliency logger calls model.zero_grad() between backward() and step(): every step is empty",
    names=("zero_grad",),
    repair=("pass",),
)
