"""wav2vec fine-tuning: the encoder is under no_grad until num_updates is reached, and nobody tells it the number."""

import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class BaseFairseqModel(nn.Module):
    def set_num_updates(self, num_updates):
        """Called by the trainer before each update."""
        for m in self.children():
            if hasattr(m, "set_num_updates"):
                m.set_num_updates(num_updates)


class Wav2VecFeatures(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv1d(1, dim, 5, stride=4)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True)

    def forward(self, wav):
        return self.layer(self.conv(wav.unsqueeze(1)).transpose(1, 2))


class Wav2VecEncoder(BaseFairseqModel):
    def __init__(self, dim=16, vocab=8, freeze_finetune_updates=2):
        super().__init__()
        self.w2v_model = Wav2VecFeatures(dim)
        self.proj = nn.Linear(dim, vocab)
        self.freeze_finetune_updates = freeze_finetune_updates
        self.num_updates = 0

    def set_num_updates(self, num_updates):
        super().set_num_updates(num_updates)
        self.num_updates = num_updates

    def forward(self, wav):
        ft = self.freeze_finetune_updates <= self.num_updates
        with torch.no_grad() if not ft else contextlib.ExitStack():
            x = self.w2v_model(wav)
        return self.proj(x)


class Wav2VecCtc(BaseFairseqModel):
    def __init__(self):
        super().__init__()
        self.w2v_encoder = Wav2VecEncoder()
        self.num_updates = 0

    def set_num_updates(self, num_updates):
        self.num_updates = num_updates  # cause

    def forward(self, wav):
        return F.log_softmax(self.w2v_encoder(wav), -1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self._num_updates = 0

    def train_step(self, wav, targets):
        self.model.set_num_updates(self._num_updates)
        lprobs = self.model(wav).transpose(0, 1)
        lengths = torch.full((len(wav),), lprobs.shape[0])
        loss = F.ctc_loss(lprobs, targets, lengths, torch.full((len(wav),), targets.shape[1]), zero_infinity=True)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self._num_updates += 1


def run():
    torch.manual_seed(0)
    model = Wav2VecCtc()
    trainer = Trainer(model)
    weight = model.w2v_encoder.w2v_model.conv.weight
    moved = []
    for _ in range(4):
        before = weight.detach().clone()
        trainer.train_step(torch.randn(3, 80), torch.randint(1, 8, (3, 4)))
        moved.append((weight.detach() - before).abs().max().item())
    return moved


def verify(outcome):
    assert outcome == [0.0] * 4


TRUTH = Truth(
    fault="the outer model overrides set_num_updates and does not pass it on: freeze_finetune_updates never ends, w2v_model stays under no_grad",
    names=("w2v_model",),
    repair=("super().set_num_updates(num_updates); self.num_updates = num_updates",),
)
