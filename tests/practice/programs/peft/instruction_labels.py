"""Instruction tuning: the labels are a view of the inputs and are masked after the forward, the embedding's indices change."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

IGNORE = -100


class ChatModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


class ChatTemplate:
    """[BOS] question [SEP] answer [EOS], all of one length here."""

    bos, sep, eos = 27, 28, 29

    def encode(self, questions, answers):
        n = len(questions)
        column = lambda t: torch.full((n, 1), t)  # noqa: E731
        ids = torch.cat([column(self.bos), questions, column(self.sep), answers, column(self.eos)], 1)
        prompt_length = questions.size(1) + 2
        return ids, torch.arange(ids.size(1)).expand_as(ids) < prompt_length


class SFTTrainer:
    def __init__(self, model, lr=1e-3, label_smoothing=0.0):
        self.model, self.smoothing = model, label_smoothing
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=4)

    def make_labels(self, ids, prompt_mask):
        labels = ids[:, 1:]  # cause
        labels[prompt_mask[:, 1:]] = IGNORE  # also
        return labels

    def loss(self, ids, prompt_mask):
        logits = self.model(ids)[:, :-1]
        labels = self.make_labels(ids, prompt_mask)
        return F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE, label_smoothing=self.smoothing
        )

    def step(self, ids, prompt_mask):
        loss = self.loss(ids, prompt_mask)
        self.optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()


def copy_task(n=6):
    questions = torch.randint(0, 27, (n, 4))
    return questions, questions.flip(1)


def run():
    torch.manual_seed(0)
    trainer, template = SFTTrainer(ChatModel()), ChatTemplate()
    return [trainer.step(*template.encode(*copy_task())) for _ in range(3)]


TRUTH = Truth(
    fault="ids[:, 1:] is a view: masking the labels writes -100 into the ids that the embedding saved",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("labels", "ids"),
    repair=("labels = ids[:, 1:].clone()",),
)
