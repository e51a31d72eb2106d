import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertModel, Trainer, TrainingArguments


class Sentences(Dataset):
    def __init__(self, count=12):
        self.ids = torch.randint(1, 32, (count, 6))
        self.labels = torch.randint(0, 2, (count,))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        config = DistilBertConfig(vocab_size=32, dim=8, n_layers=1, n_heads=2, hidden_dim=16, max_position_embeddings=8)
        self.encoder = DistilBertModel(config)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(8, 2)

    def forward(self, input_ids, labels=None):
        hidden = self.encoder(input_ids=input_ids).last_hidden_state
        pooled = self.dropout(hidden.mean(dim=1))
        return {"logits": self.classifier(pooled)}


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs["logits"]
        loss = F.cross_entropy(logits, labels, weight=torch.tensor([1.0, 2.0]))
        return (loss, outputs) if return_outputs else loss


def run():
    model = Classifier()
    for parameter in model.encoder.embeddings.parameters():
        parameter.requires_grad = False
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=4,
            per_device_train_batch_size=3,
            gradient_accumulation_steps=2,
            learning_rate=1e-3,
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Weighted(model=model, args=arguments, train_dataset=Sentences())
        trainer.train()
    return model
