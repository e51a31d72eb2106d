# inlined: peft.tuners.ia3.layer
# inlined: peft.tuners.ia3.model
import torch
from peft import IA3Config
from peft.tuners.ia3.model import IA3Model
from transformers import T5Config, T5ForConditionalGeneration


def run():
    base = T5ForConditionalGeneration(
        T5Config(vocab_size=32, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0)
    )
    config = IA3Config(task_type="SEQ_2_SEQ_LM", target_modules=["k", "v", "wo"], feedforward_modules=["wo"])
    model = IA3Model(base, {"default": config}, "default")
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    total_loss = 0
    for step in range(4):
        batch = {"input_ids": torch.randint(1, 32, (2, 6)), "labels": torch.randint(1, 32, (2, 4))}
        outputs = model(**batch)
        loss = outputs.loss
        total_loss += loss.detach().float()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, total_loss
