"""'Expected to have finished reduction': under DDP the branch of the second language is skipped in some batches."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.practice.truth import Truth


class LanguageAdapter(nn.Module):
    def __init__(self, dim, bottleneck=4):
        super().__init__()
        self.norm, self.down, self.up = nn.LayerNorm(dim), nn.Linear(dim, bottleneck), nn.Linear(bottleneck, dim)

    def forward(self, x):
        return x + self.up(F.relu(self.down(self.norm(x))))


class SpeechTranslator(nn.Module):
    def __init__(self, languages=("de", "fr"), mel=8, dim=16, vocab=20):
        super().__init__()
        self.subsample = nn.Conv1d(mel, dim, 3, 2, 1)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.adapters = nn.ModuleDict({lang: LanguageAdapter(dim) for lang in languages})
        self.ctc = nn.Linear(dim, vocab)

    def forward(self, feats, lang):
        x = F.gelu(self.subsample(feats.transpose(1, 2))).transpose(1, 2)
        x, _ = self.encoder(x)
        return self.ctc(self.adapters[lang](x)).log_softmax(-1)


def ctc(logp, targets):
    lengths = torch.full((len(logp),), logp.size(1))
    return F.ctc_loss(logp.transpose(0, 1), targets, lengths, torch.full((len(targets),), targets.size(1)))


def batches(n):
    for i in range(n):
        yield torch.randn(3, 24, 8), torch.randint(1, 20, (3, 4)), ("de", "fr")[i % 2]


def train(rank, epochs=1):
    model = SpeechTranslator()
    ddp_model = DDP(model)  # cause
    optimizer = torch.optim.AdamW(ddp_model.parameters(), lr=1e-3)
    losses = []
    for _ in range(epochs):
        for feats, targets, lang in batches(4):
            logp = ddp_model(feats, lang)  # symptom
            loss = ctc(logp, targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ddp_model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        store = dist.FileStore(os.path.join(folder, "store"), 1)
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            return train(rank=0)
        finally:
            dist.destroy_process_group()


TRUTH = Truth(
    fault="each batch leaves the adapter of one language without gradient, for which the reducer waits",
    raises="Expected to have finished reduction in the prior iteration before starting a new one",
    names=("find_unused_parameters",),
    repair=("ddp_model = DDP(model, find_unused_parameters=True)",),
)
