import torch
from peft import PromptTuningConfig, get_peft_model
from transformers import LlamaConfig, LlamaForSequenceClassification


def evaluate(model):
    model.eval()
    with torch.no_grad():
        ids = torch.randint(3, 32, (2, 6))
        predictions = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.argmax(dim=-1)
    model.train()
    return predictions


def run():
    base = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=32,
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_labels=2,
            pad_token_id=0,
        )
    )
    config = PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4)
    model = get_peft_model(base, config)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.1, momentum=0.9)
    model.train()
    for epoch in range(2):
        for step in range(2):
            ids = torch.randint(3, 32, (2, 6))
            outputs = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.randint(0, 2, (2,)))
            loss = outputs.loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        predictions = evaluate(model)
    return model, predictions
