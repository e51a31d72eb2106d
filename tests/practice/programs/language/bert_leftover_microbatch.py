"""Language: the epoch's last, incomplete accumulation is neither applied nor cleared and leaks into the next epoch."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tests.practice.truth import Truth


@dataclass
class TrainingArguments:
    vocab: int = 24
    hidden: int = 16
    mask_token: int = 1
    mlm_probability: float = 0.3
    per_device_batch_size: int = 4
    gradient_accumulation_steps: int = 2
    num_train_epochs: int = 2
    learning_rate: float = 5e-3
    max_grad_norm: float = 1e3


class BertLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attention = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.intermediate, self.output = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.output(F.gelu(self.intermediate(x))))


class BertForMaskedLM(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.word_embeddings = nn.Embedding(args.vocab, args.hidden)
        self.position_embeddings = nn.Embedding(8, args.hidden)
        self.layer = BertLayer(args.hidden)
        self.bias = nn.Parameter(torch.zeros(args.vocab))

    def forward(self, input_ids, labels):
        x = self.word_embeddings(input_ids) + self.position_embeddings.weight[: input_ids.size(1)]
        logits = self.layer(x) @ self.word_embeddings.weight.T + self.bias
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


class MaskingCollator:
    def __init__(self, args):
        self.args = args

    def __call__(self, rows):
        ids = torch.stack([r[0] for r in rows])
        labels = ids.clone()
        masked = torch.rand(ids.shape) < self.args.mlm_probability
        masked[:, 0] = True
        labels[~masked] = -100
        return ids.masked_fill(masked, self.args.mask_token), labels


class Trainer:
    def __init__(self, args, model, dataset):
        self.args, self.model = args, model
        self.loader = DataLoader(dataset, args.per_device_batch_size, shuffle=True, collate_fn=MaskingCollator(args))
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
        steps = len(self.loader) // args.gradient_accumulation_steps * args.num_train_epochs
        self.lr_scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.1, total_iters=steps)
        self.global_step, self.backwards, self.counts = 0, 0, []

    def training_step(self, input_ids, labels):
        loss = self.model(input_ids, labels) / self.args.gradient_accumulation_steps
        loss.backward()
        self.backwards += 1
        return loss.item()

    def train(self):
        self.model.train()
        self.optimizer.zero_grad()
        for _ in range(self.args.num_train_epochs):
            for step, (input_ids, labels) in enumerate(self.loader):
                self.training_step(input_ids, labels)
                if (step + 1) % self.args.gradient_accumulation_steps == 0:  # cause
                    nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
                    self.optimizer.step()  # also
                    self.lr_scheduler.step()
                    self.optimizer.zero_grad()
                    self.global_step += 1
                    self.counts.append(self.backwards)
                    self.backwards = 0
        return self.counts, self.backwards


def run():
    torch.manual_seed(0)
    args = TrainingArguments()
    dataset = TensorDataset(torch.randint(2, args.vocab, (20, 6)))  # five batches, accumulated two by two
    return Trainer(args, BertForMaskedLM(args), dataset).train()


def verify(outcome):
    counts, left = outcome
    assert max(counts) == 3 and left == 1


TRUTH = Truth(
    minor=True,
    fault="the fifth batch's gradients stay in .grad over the end of the epoch: the next update sums three, the last is lost",
    names=("zero_grad",),
    repair=("if (step + 1) % self.args.gradient_accumulation_steps == 0 or step + 1 == len(self.loader):",),
)
