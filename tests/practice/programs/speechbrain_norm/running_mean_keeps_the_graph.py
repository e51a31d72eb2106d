"""SpeechBrain-like: the global mean of the normalisation is learnt from encoder outputs and keeps their graphs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class InputNormalization(nn.Module):
    def __init__(self, norm_type="global", update_until_epoch=3):
        super().__init__()
        self.norm_type, self.update_until_epoch = norm_type, update_until_epoch
        self.glob_mean, self.count = None, 0

    def forward(self, x, epoch=0):
        current = x.mean((0, 1))
        if self.training and epoch < self.update_until_epoch:
            if self.count == 0:
                self.glob_mean = current  # also
            else:
                w = 1 / (self.count + 1)
                self.glob_mean = (1 - w) * self.glob_mean + w * current  # cause
            self.count += 1
        return x - self.glob_mean


class XVector(nn.Module):
    def __init__(self, mels=6, dim=12):
        super().__init__()
        self.filterbank = nn.Linear(mels, dim)  # learnable front end, so that the statistics depend on weights
        self.mean_var_norm = InputNormalization()
        self.tdnn = nn.Conv1d(dim, 16, 3, padding=1)
        self.classifier = nn.Linear(16, 4)

    def forward(self, wavs, epoch):
        feats = self.filterbank(wavs).exp().log1p()
        feats = self.mean_var_norm(feats, epoch)
        return self.classifier(self.tdnn(feats.transpose(1, 2)).relu().mean(-1))


class SpeakerBrain:
    def __init__(self, modules, opt_class):
        self.modules = modules
        self.optimizer = opt_class(modules.parameters())

    def fit_batch(self, wavs, spk, epoch):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.modules(wavs, epoch), spk)
        loss.backward()  # symptom
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs, batches):
        history = []
        for epoch in range(epochs):
            self.modules.train()
            for wavs, spk in batches:
                history.append(self.fit_batch(wavs, spk, epoch))
        return history


def run():
    torch.manual_seed(0)
    brain = SpeakerBrain(XVector(), lambda params: torch.optim.Adam(params, lr=1e-3))
    batches = [(torch.randn(4, 10, 6), torch.randint(0, 4, (4,))) for _ in range(2)]
    return brain.fit(2, batches)


TRUTH = Truth(
    fault="glob_mean is a tensor of the last batch's graph, which the second backward enters again",
    raises="Trying to backward through the graph a second time",
    names=("glob_mean",),
    repair=("self.glob_mean = (1 - w) * self.glob_mean.detach() + w * current",),
)
