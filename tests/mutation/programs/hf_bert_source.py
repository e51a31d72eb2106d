# inlined: transformers.models.bert.modeling_bert
import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertForSequenceClassification


def run():
    config = BertConfig(
        vocab_size=32,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        num_labels=3,
    )
    model = BertForSequenceClassification(config).train()
    decay = [p for n, p in model.named_parameters() if "bias" not in n and "LayerNorm" not in n]
    others = [p for n, p in model.named_parameters() if "bias" in n or "LayerNorm" in n]
    optimizer = torch.optim.AdamW([{"params": decay}, {"params": others, "weight_decay": 0.0}], lr=2e-5)
    mask = torch.ones(2, 6, dtype=torch.long)
    mask[0, 4:] = 0
    total = 0.0
    for step in range(4):
        batch = torch.randint(0, 32, (2, 6))
        labels = torch.randint(0, 3, (2,))
        outputs = model(input_ids=batch, attention_mask=mask, labels=labels)
        loss = outputs.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    return model, total
