# inlined: llms_from_scratch.ch03
# inlined: llms_from_scratch.ch04
# inlined: llms_from_scratch.ch05
# inlined: llms_from_scratch.appendix_d
import torch
from llms_from_scratch.appendix_d import train_model
from llms_from_scratch.ch04 import GPTModel

CONFIG = {
    "vocab_size": 40,
    "context_length": 8,
    "emb_dim": 8,
    "n_heads": 2,
    "n_layers": 1,
    "drop_rate": 0.1,
    "qkv_bias": False,
}


class Tokenizer:
    def encode(self, text, allowed_special=None):
        return [ord(each) % 40 for each in text]

    def decode(self, ids):
        return "".join(chr(97 + each) for each in ids)


def run():
    model = GPTModel(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    batches = [(torch.randint(0, 40, (2, 8)), torch.randint(0, 40, (2, 8))) for _ in range(3)]
    losses = train_model(
        model,
        batches,
        batches[:1],
        optimizer,
        "cpu",
        n_epochs=2,
        eval_freq=3,
        eval_iter=1,
        start_context="to be",
        tokenizer=Tokenizer(),
        warmup_steps=2,
    )
    return model, losses
