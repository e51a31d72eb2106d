"""Fine-tuning: a Trainer subclass keeps a contrastive projection of its own, which is in no optimizer."""

import tempfile
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from tests.practice.truth import Truth

warnings.filterwarnings("ignore")


class Sentences(torch.utils.data.Dataset):
    def __init__(self, n, length=6, vocab=30):
        self.ids = torch.randint(3, vocab, (n, length))
        self.labels = (self.ids[:, 0] > vocab // 2).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones_like(self.ids[i]), "labels": self.labels[i]}


def supcon(z, labels, temperature=0.3):
    z = F.normalize(z, dim=-1)
    logits = z @ z.T / temperature
    eye = torch.eye(len(z), dtype=torch.bool)
    logits = logits.masked_fill(eye, -1e4)
    same = (labels[:, None] == labels[None]) & ~eye
    logp = logits - torch.logsumexp(logits, 1, keepdim=True)
    return -(logp * same).sum(1).div(same.sum(1).clamp(min=1)).mean()


class ContrastiveTrainer(Trainer):
    def __init__(self, *args, projection_dim=8, weight=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight = weight
        self.projection = nn.Linear(self.model.config.hidden_size, projection_dim)  # cause
        self.projection.to(self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs, output_hidden_states=True)
        cls = outputs.hidden_states[-1][:, 0]
        loss = outputs.loss + self.weight * supcon(self.projection(cls), inputs["labels"])
        return (loss, outputs) if return_outputs else loss


def model_init():
    config = BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        num_labels=2,
    )
    return BertForSequenceClassification(config)


def run():
    torch.manual_seed(0)
    data = Sentences(24)
    model = model_init()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            max_steps=3,
            learning_rate=1e-3,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            seed=0,
        )
        trainer = ContrastiveTrainer(model=model, args=args, train_dataset=data)
        start = trainer.projection.weight.detach().clone()
        encoder = model.bert.embeddings.word_embeddings.weight.detach().clone()
        trainer.train()
    return start, trainer.projection.weight.detach(), torch.equal(encoder, model.bert.embeddings.word_embeddings.weight)


def verify(outcome):
    start, end, still = outcome
    assert torch.equal(start, end) and not still


TRUTH = Truth(
    fault="the projection belongs to the Trainer and not to the model, so no optimizer has it",
    names=("projection",),
    repair=("self.projection = self.model.projection = nn.Linear(self.model.config.hidden_size, projection_dim)",),
)
