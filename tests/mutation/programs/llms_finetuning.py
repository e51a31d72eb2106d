# inlined: llms_from_scratch.ch03
# inlined: llms_from_scratch.ch04
# inlined: llms_from_scratch.appendix_e
import torch
from llms_from_scratch.appendix_e import replace_linear_with_lora
from llms_from_scratch.ch04 import GPTModel

CONFIG = {
    "vocab_size": 40,
    "context_length": 8,
    "emb_dim": 16,
    "n_heads": 2,
    "n_layers": 1,
    "drop_rate": 0.0,
    "qkv_bias": True,
}


def calc_loss_batch(input_batch, target_batch, model):
    logits = model(input_batch)[:, -1, :]
    return torch.nn.functional.cross_entropy(logits, target_batch)


def run():
    model = GPTModel(CONFIG)
    for param in model.parameters():
        param.requires_grad = False
    model.out_head = torch.nn.Linear(16, 2)
    replace_linear_with_lora(model, rank=2, alpha=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.1)
    model.train()
    examples_seen = 0
    for step in range(4):
        input_batch, target_batch = torch.randint(0, 40, (2, 6)), torch.randint(0, 2, (2,))
        optimizer.zero_grad()
        loss = calc_loss_batch(input_batch, target_batch, model)
        loss.backward()
        optimizer.step()
        examples_seen += input_batch.shape[0]
    return model, examples_seen
