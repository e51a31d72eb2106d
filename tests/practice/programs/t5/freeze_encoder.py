"""T5: freezing the encoder freezes the shared embedding, hence the decoder's embedding and the tied head."""

import torch
from transformers import T5Config, T5ForConditionalGeneration
from transformers.optimization import Adafactor

from tests.practice.truth import Truth


def tiny_t5():
    config = T5Config(
        vocab_size=32,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    return T5ForConditionalGeneration(config)


class SummarisationTrainer:
    """Trains the decoder, with its embedding and head, on top of an encoder that stays as it is."""

    def __init__(self, model, lr=1e-2, accumulate=2):
        self.model, self.accumulate = model, accumulate
        self.freeze_encoder()
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = Adafactor(trainable, lr=lr, scale_parameter=False, relative_step=False)

    def freeze_encoder(self):
        for param in self.model.get_encoder().parameters():  # cause
            param.requires_grad = False  # also

    def step(self, batches):
        self.model.train()
        self.optimizer.zero_grad()
        for ids, labels in batches:
            loss = self.model(input_ids=ids, attention_mask=ids.ne(0).long(), labels=labels).loss
            (loss / self.accumulate).backward()
        self.optimizer.step()


def make_batch():
    ids = torch.randint(2, 32, (3, 8))
    ids[1, 6:] = 0
    labels = torch.randint(2, 32, (3, 5))
    labels[2, 3:] = -100
    return ids, labels


def run():
    torch.manual_seed(0)
    model = tiny_t5()
    trainer = SummarisationTrainer(model)
    head = model.lm_head.weight.detach().clone()
    block = model.encoder.block[0].layer[0].SelfAttention.q.weight.detach().clone()
    for _ in range(3):
        trainer.step([make_batch() for _ in range(trainer.accumulate)])
    still = torch.equal(head, model.lm_head.weight)
    assert torch.equal(block, model.encoder.block[0].layer[0].SelfAttention.q.weight)
    return still


def verify(outcome):
    assert outcome


TRUTH = Truth(
    fault="the encoder's parameters include the shared embedding: freezing them freezes lm_head too",
    names=("shared", "lm_head"),
    repair=('for param in (p for n, p in self.model.get_encoder().named_parameters() if "embed_tokens" not in n):',),
)
