import torch
from peft import PrefixTuningConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup


def run():
    base = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=8, n_layer=1, n_head=2, n_positions=24))
    config = PrefixTuningConfig(
        task_type="CAUSAL_LM", num_virtual_tokens=3, prefix_projection=True, encoder_hidden_size=8
    )
    model = get_peft_model(base, config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    lr_scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=0, num_training_steps=4)
    model.train()
    total_loss = 0.0
    for step in range(4):
        ids = torch.randint(0, 32, (2, 6))
        outputs = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)
        loss = outputs.loss
        total_loss += loss.item()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
    return model, total_loss
