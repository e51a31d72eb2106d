"""BitFit: in a BERT classifier the biases and the head learn, and every matrix of the body stays as it was."""

import torch
from torchmetrics.classification import MulticlassAccuracy
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=24,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        num_labels=3,
    )
    model = BertForSequenceClassification(config)
    for name, param in model.named_parameters():
        param.requires_grad = "classifier" in name or name.endswith("bias")
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=1e-2)
    scheduler = get_linear_schedule_with_warmup(optimizer, 1, 4)
    metric = MulticlassAccuracy(num_classes=3)
    losses = []
    for _ in range(3):
        model.train()
        ids = torch.randint(1, 24, (4, 7))
        mask = torch.ones_like(ids)
        mask[0, 4:] = 0
        out = model(input_ids=ids, attention_mask=mask, labels=torch.randint(3, (4,)))
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(out.loss.item())
        model.eval()
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=mask).logits
            metric.update(logits, torch.zeros(4, dtype=torch.long))
    return model, start, losses, metric.compute().item()


TRUTH = Truth()


def verify(out):
    model, start, losses, acc = out
    for n, p in model.named_parameters():
        if not p.requires_grad:
            assert torch.equal(p, start[n])
    assert not torch.equal(model.classifier.weight, start["classifier.weight"])
    assert all(0 < loss < 100 for loss in losses) and 0 <= acc <= 1
