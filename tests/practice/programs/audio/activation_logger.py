"""Speech: the forward hook that logs activations returns its detached copy, which takes the layer's output's place."""

from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class BatchRNN(nn.Module):
    def __init__(self, inputs, hidden, batch_norm=True):
        super().__init__()
        self.batch_norm = nn.BatchNorm1d(inputs) if batch_norm else None
        self.rnn = nn.GRU(inputs, hidden, bidirectional=True, batch_first=True)

    def forward(self, x):
        if self.batch_norm is not None:
            x = self.batch_norm(x.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        return x.view(x.size(0), x.size(1), 2, -1).sum(2)


class DeepSpeech(nn.Module):
    def __init__(self, labels=8, mels=10, hidden=12):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(mels, 12, 5, 2, 2),
            nn.BatchNorm1d(12),
            nn.Hardtanh(0, 20),
            nn.Conv1d(12, 12, 5, 1, 2),
            nn.Hardtanh(0, 20),
        )
        self.rnns = nn.Sequential(BatchRNN(12, hidden, batch_norm=False), BatchRNN(hidden, hidden))
        self.fc = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, labels, bias=False))

    def forward(self, x, lengths):
        x = self.conv(x).transpose(1, 2)
        x = self.fc(self.rnns(x))
        return x.log_softmax(-1).transpose(0, 1), (lengths + 1) // 2


class ActivationLogger:
    """Mean and spread of what the named layers put out."""

    def __init__(self, model, layers):
        self.stats = defaultdict(list)
        self.handles = [model.get_submodule(name).register_forward_hook(self.make_hook(name)) for name in layers]

    def record(self, name, value):
        self.stats[name].append((value.mean().item(), value.std().item()))
        return value

    def make_hook(self, name):
        def hook(module, inputs, output):
            return self.record(name, output.detach())  # cause

        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()


class GreedyDecoder:
    def __init__(self, blank=0):
        self.blank = blank

    def __call__(self, log_probs):
        texts = []
        for row in log_probs.argmax(-1).t():
            row = torch.unique_consecutive(row)
            texts.append(row[row != self.blank].tolist())
        return texts


def make_batch(n=3, frames=24):
    lengths = torch.tensor([frames, frames - 2, frames - 4])
    targets = torch.randint(1, 8, (n, 4))
    return torch.randn(n, 10, frames), lengths, targets, torch.full((n,), 4)


def train_step(model, criterion, optimizer, batch):
    inputs, lengths, targets, target_lengths = batch
    out, out_lengths = model(inputs, lengths)
    loss = criterion(out, targets, out_lengths, target_lengths) / inputs.size(0)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 400)
    optimizer.step()
    return loss.item(), out.detach()


def run():
    torch.manual_seed(0)
    model = DeepSpeech()
    criterion = nn.CTCLoss(blank=0, reduction="sum", zero_infinity=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, nesterov=True)
    logger = ActivationLogger(model, ["conv.2", "rnns.0"])
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    decoder = GreedyDecoder()
    for _ in range(3):
        _, out = train_step(model, criterion, optimizer, make_batch())
        decoder(out)
    logger.close()
    return [n for n, p in model.named_parameters() if not torch.equal(p, before[n])]


def verify(moved):
    assert moved and not any(n.startswith(("conv", "rnns.0")) for n in moved)


TRUTH = Truth(
    fault="the forward hook replaces the output of rnns.0 (and conv.2) by a detached one, all below is not trained",
    names=("hook", "rnns.0"),
    repair=("self.record(name, output.detach())",),
)
