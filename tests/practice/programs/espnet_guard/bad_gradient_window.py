"""ESPnet: the guard against gradients that are not finite leaves before they are cleared, so they stay for good."""

import logging

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class UtteranceMVN(nn.Module):
    def forward(self, x):
        x = x - x.mean(1, keepdim=True)
        return x / x.std(1, keepdim=True)


class LogMel(nn.Module):
    def __init__(self, n_freq=16, n_mels=8):
        super().__init__()
        self.register_buffer("melmat", torch.rand(n_freq, n_mels))

    def forward(self, power):
        return (power @ self.melmat).clamp(min=1e-10).log()


class ESPnetASRModel(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.frontend, self.normalize = LogMel(), UtteranceMVN()
        self.encoder = nn.GRU(8, dim, batch_first=True, bidirectional=True)
        self.ctc_lo = nn.Linear(2 * dim, vocab)

    def forward(self, speech, text):
        feats = self.normalize(self.frontend(speech))
        logp = self.ctc_lo(self.encoder(feats)[0]).log_softmax(-1).transpose(0, 1)
        hlens = torch.full((len(speech),), speech.size(1))
        return F.ctc_loss(logp, text, hlens, torch.full((len(text),), text.size(1)), zero_infinity=True)


class Reporter:
    def __init__(self):
        self.stats = []

    def register(self, **stats):
        self.stats.append(stats)


def train_one_epoch(model, iterator, optimizer, scheduler, reporter, accum_grad=1, grad_clip=5.0):
    model.train()
    for iiter, (speech, text) in enumerate(iterator, 1):
        loss = model(speech, text) / accum_grad
        loss.backward()
        if iiter % accum_grad == 0:
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=grad_clip)
            if not torch.isfinite(grad_norm):
                logging.getLogger(__name__).info("The grad norm is %s. Skipping updating the model.", grad_norm)
                reporter.register(loss=loss.item(), updated=False)
                continue  # cause
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            reporter.register(loss=loss.item(), updated=True)


def run():
    torch.manual_seed(0)
    model = ESPnetASRModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) ** -0.5, (n + 1) * 3**-1.5))
    batches = [(torch.rand(2, 20, 16), torch.randint(1, 12, (2, 5))) for _ in range(6)]
    batches[1][0][0] = 0.0  # an utterance of digital silence
    reporter = Reporter()
    train_one_epoch(model, batches, optimizer, scheduler, reporter)
    return [s["updated"] for s in reporter.stats]


def verify(updated):
    assert updated == [True, False, False, False, False, False], updated


TRUTH = Truth(
    fault="the gradients of the skipped batch are NaN and are not cleared: all that is added to them stays NaN",
    names=("grad",),
    repair=("optimizer.zero_grad()\ncontinue",),
)
