"""transformers: a compute_loss() of one's own returns a mean, and Trainer divides it by nothing when accumulating."""

import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

from tests.practice.truth import Truth


class Reports(Dataset):
    def __init__(self, n, vocab=30, length=8):
        g = torch.Generator().manual_seed(3)
        self.ids = torch.randint(1, vocab, (n, length), generator=g)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


class WeightedTrainer(Trainer):
    def __init__(self, *args, token_weight, **kwargs):
        super().__init__(*args, **kwargs)
        self.token_weight = token_weight

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits, targets = outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        per_token = F.cross_entropy(logits, targets, reduction="none") * self.token_weight[targets]
        loss = per_token.mean()  # cause
        return (loss, outputs) if return_outputs else loss


class GradientLogger(TrainerCallback):
    def __init__(self):
        self.norms = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        grads = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        self.norms.append(torch.cat(grads).norm().item())


def tiny_gpt2():
    torch.manual_seed(0)
    sizes = dict(bos_token_id=0, eos_token_id=0, vocab_size=30, n_positions=8, n_embd=16, n_layer=1, n_head=2)
    return GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def first_norm(per_device, accumulation):
    model, logger, weight = tiny_gpt2(), GradientLogger(), torch.linspace(0.5, 1.5, 30)
    with tempfile.TemporaryDirectory() as path:
        args = TrainingArguments(
            output_dir=path,
            per_device_train_batch_size=per_device,
            gradient_accumulation_steps=accumulation,
            max_steps=2,
            max_grad_norm=0.0,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        trainer = WeightedTrainer(
            model=model,
            args=args,
            train_dataset=Reports(16),
            callbacks=[logger],
            optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)),
            token_weight=weight,
        )
        trainer.train()
    return logger.norms[0]


def run():
    return first_norm(2, 4) / first_norm(8, 1)


def verify(ratio):
    assert ratio > 3, ratio


TRUTH = Truth(
    fault="the mean of each micro-batch is not divided by num_items_in_batch or the steps: the gradients add up",
    names=("compute_loss", "num_items_in_batch"),
    repair=("loss = per_token.sum() / (targets.numel() if num_items_in_batch is None else num_items_in_batch)",),
)
