"""DistilBERT style: the teacher runs under inference_mode, and its tensors cannot be saved for the student's backward."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import BertConfig, BertForSequenceClassification

from tests.practice.truth import Truth


def bert(layers):
    config = BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=12,
        num_labels=3,
        attn_implementation="eager",
    )
    return BertForSequenceClassification(config)


class Distiller:
    def __init__(self, student, teacher, temperature=2.0):
        self.student, self.teacher, self.temperature = student, teacher.eval(), temperature
        self.alpha_ce, self.alpha_cos = 5.0, 1.0
        self.opt = torch.optim.AdamW(student.parameters(), lr=5e-5)

    @torch.inference_mode()  # cause
    def ask_teacher(self, ids, mask):
        return self.teacher(input_ids=ids, attention_mask=mask, output_hidden_states=True)

    def step(self, ids, mask):
        t = self.ask_teacher(ids, mask)  # also
        s = self.student(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        target = F.softmax(t.logits / self.temperature, dim=-1)
        ce = F.kl_div(F.log_softmax(s.logits / self.temperature, dim=-1), target, reduction="batchmean")  # symptom
        flag = torch.ones(ids.numel())
        cos = F.cosine_embedding_loss(s.hidden_states[-1].flatten(0, 1), t.hidden_states[-1].flatten(0, 1), flag)
        loss = self.alpha_ce * self.temperature**2 * ce + self.alpha_cos * cos
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.student.parameters(), 5.0)
        self.opt.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    distiller = Distiller(bert(1), bert(2))
    for _ in range(2):
        ids = torch.randint(0, 40, (2, 6))
        distiller.step(ids, torch.ones_like(ids))


TRUTH = Truth(
    fault="inference tensors enter the student's graph",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("@torch.no_grad()",),
)
