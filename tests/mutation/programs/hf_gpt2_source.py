# inlined: transformers.models.gpt2.modeling_gpt2
import torch
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel


def run():
    config = GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2, n_positions=16, use_cache=False)
    model = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        ids = torch.randint(0, 32, (2, 8))
        out = model(input_ids=ids, labels=ids)
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    return model
