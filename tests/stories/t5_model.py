"""A T5 with a classification head for Lightning, and the ways of training it that work."""

import logging

import lightning
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from transformers import T5Config, T5ForConditionalGeneration

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

CLASSES, VOCABULARY = 3, 40
Batch = list[Tensor]


class T5Classifier(lightning.LightningModule):
    """Classifies a text by what the decoder of T5 makes of it."""

    def __init__(self) -> None:
        super().__init__()
        config = T5Config(
            vocab_size=VOCABULARY,
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            dropout_rate=0.0,
            pad_token_id=0,
            decoder_start_token_id=0,
        )
        self.t5 = T5ForConditionalGeneration(config)
        self.head = nn.Linear(config.d_model, CLASSES)

    def decode(self, ids: Tensor) -> Tensor:
        """The last decoder state of each text."""
        out = self.t5(input_ids=ids, labels=ids, output_hidden_states=True)
        return out.decoder_hidden_states[-1][:, -1]

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        ids, topics = batch
        logits = self.head(self.decode(ids))
        return cross_entropy(logits, topics)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


class FineTuning(T5Classifier):
    """Second stage: the head has been trained alone, is frozen, and T5 now adapts to it."""

    def __init__(self) -> None:
        super().__init__()
        self.head.requires_grad_(False)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.t5.parameters(), lr=1e-2)


class TwoLosses(T5Classifier):
    """Adds T5's own language loss to that of the head."""

    def losses(self, batch: Batch) -> list[Tensor]:
        """The language loss and the topic loss."""
        ids, topics = batch
        out = self.t5(input_ids=ids, labels=ids, output_hidden_states=True)
        logits = self.head(out.decoder_hidden_states[-1][:, -1])
        return [out.loss, cross_entropy(logits, topics)]

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        return torch.stack(self.losses(batch)).mean()


class LinearProbe(T5Classifier):
    """First stage as it should be: T5 is frozen and only the head learns."""

    def __init__(self) -> None:
        super().__init__()
        self.t5.requires_grad_(False)

    @torch.no_grad()
    def decode(self, ids: Tensor) -> Tensor:
        return super().decode(ids)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.head.parameters(), lr=1e-2)


def fit(kind: type[T5Classifier]) -> float:
    """Train for two steps and return how far T5 has moved."""
    torch.manual_seed(4)
    classifier = kind()
    ids, topics = torch.randint(1, VOCABULARY, (4, 6)), torch.randint(CLASSES, (4,))
    before = nn.utils.parameters_to_vector(classifier.t5.parameters()).detach().clone()
    trainer = lightning.Trainer(
        max_steps=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(classifier, DataLoader(TensorDataset(ids, topics), batch_size=2))
    after = nn.utils.parameters_to_vector(classifier.t5.parameters()).detach()
    return (after - before).norm().item()
