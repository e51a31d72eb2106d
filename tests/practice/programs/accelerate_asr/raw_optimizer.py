"""accelerate: the optimizer is not prepared, so it steps and clears in every micro-batch of the accumulation."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.practice.truth import Truth


class Utterances(Dataset):
    def __init__(self, n, frames=20, mels=8, vocab=6):
        g = torch.Generator().manual_seed(3)
        self.x = torch.randn(n, frames, mels, generator=g)
        self.y = torch.randint(1, vocab, (n, 4), generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SpeechModel(nn.Module):
    def __init__(self, mels=8, hidden=12, vocab=6):
        super().__init__()
        self.subsample = nn.Conv1d(mels, hidden, 3, stride=2, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.ctc_head = nn.Linear(2 * hidden, vocab)

    def forward(self, x):
        x = torch.relu(self.subsample(x.transpose(1, 2))).transpose(1, 2)
        return self.ctc_head(self.rnn(x)[0]).log_softmax(-1)


class CTCCriterion(nn.Module):
    def __init__(self):
        super().__init__()
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def forward(self, log_probs, targets):
        n, t, _ = log_probs.shape
        lengths = torch.full((n,), t), torch.full((n,), targets.size(1))
        return self.ctc(log_probs.transpose(0, 1), targets, *lengths)


def main(accumulation=4):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    model, criterion = SpeechModel(), CTCCriterion()
    loader = DataLoader(Utterances(16), batch_size=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, loader = accelerator.prepare(model, loader)  # cause
    updates, last = 0, None
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
        now = accelerator.unwrap_model(model).ctc_head.weight.detach().clone()
        updates += last is None or not torch.equal(now, last)
        last = now
    return updates - 1


def run():
    torch.manual_seed(0)
    return main()


def verify(outcome):
    assert outcome == 7, outcome  # an update after every micro-batch (the repaired one: after 4 and after 8)


TRUTH = Truth(
    fault="the raw optimizer knows nothing of accumulate(): each micro-batch is stepped on with a quarter of its gradient",
    names=("optimizer",),
    repair=("model, loader, optimizer = accelerator.prepare(model, loader, optimizer)",),
)
