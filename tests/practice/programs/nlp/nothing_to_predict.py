"""Language: one batch holds only ignored labels; its mean over no token is NaN, and the step makes all weights NaN."""

import torch
from torch import nn

from tests.practice.truth import Truth

VOCAB, DIM, IGNORE, SEP = 20, 12, -100, 1


class Chat(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.LSTM(DIM, DIM, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


class CompletionCollator:
    """Labels only what comes after the separator; cuts at max_length."""

    def __init__(self, max_length=8):
        self.max_length = max_length

    def __call__(self, samples):
        ids = torch.stack([s[: self.max_length] for s in samples])
        labels = ids.clone()
        for row, label in zip(ids, labels):
            where = (row == SEP).nonzero()
            end = int(where[0]) + 1 if len(where) else len(row)  # no separator left: all of it is prompt
            label[:end] = IGNORE  # also
        return ids, labels


def conversation(prompt, length=12):
    words = torch.randint(2, VOCAB, (length,))
    words[prompt] = SEP
    return words


def corpus():
    short = [conversation(3) for _ in range(8)]
    long = [conversation(10) for _ in range(4)]  # the separator lies behind the cut
    return [short[:4], long, short[4:]]


def token_loss(logits, labels):
    labels = labels[:, 1:]
    mask = labels != IGNORE
    logp = logits[:, :-1].log_softmax(-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return -(logp * mask).sum() / mask.sum()  # cause


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model, self.collate = model, CompletionCollator()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.healthy = []

    def fit(self, data):
        for samples in data:
            ids, labels = self.collate(samples)
            loss = token_loss(self.model(ids), labels)
            self.optimizer.zero_grad()
            loss.backward()  # also
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.healthy.append(all(torch.isfinite(p).all().item() for p in self.model.parameters()))


def run():
    torch.manual_seed(0)
    trainer = Trainer(Chat())
    trainer.fit(corpus())
    return trainer.healthy


def verify(outcome):
    assert outcome == [True, False, False]


TRUTH = Truth(
    fault="the mean over no label at all is 0 / 0: NaN gradients go into every weight",
    names=("NaN",),
    repair=("return -(logp * mask).sum() / mask.sum().clamp(min=1)",),
)
