"""torchtune-like: the optimizers run inside backward, and the recipe still accumulates over micro-batches."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

CFG = {"optimizer_in_bwd": True, "gradient_accumulation_steps": 4, "lr": 0.1, "clip_grad_norm": None}


class TransformerDecoder(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 24), nn.SiLU(), nn.Linear(24, dim))
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        return self.output(h + self.mlp(h))


class OptimizerInBackwardWrapper:
    def __init__(self, optim_map):
        self.optim_map = optim_map

    def state_dict(self):
        return {p: o.state_dict() for p, o in self.optim_map.items()}


def register_optim_in_bwd_hooks(model, optim_dict):
    def optim_step(param):
        optim_dict[param].step()  # also
        optim_dict[param].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(optim_step)


class FullFinetuneRecipe:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = TransformerDecoder()
        self.accumulation = cfg["gradient_accumulation_steps"]
        if cfg["optimizer_in_bwd"]:  # cause
            optim_dict = {p: torch.optim.SGD([p], lr=cfg["lr"]) for p in self.model.parameters()}
            register_optim_in_bwd_hooks(self.model, optim_dict)
            self.optimizer = OptimizerInBackwardWrapper(optim_dict)
            self.optimizer_in_bwd = True
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg["lr"])
            self.optimizer_in_bwd = False

    def train(self, batches):
        moves, running = [], 0.0
        for idx, tokens in enumerate(batches):
            before = self.model.output.weight.detach().clone()
            logits = self.model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()) / self.accumulation
            running += loss.item()
            loss.backward()
            if (idx + 1) % self.accumulation == 0 and not self.optimizer_in_bwd:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
            moves.append(not torch.equal(before, self.model.output.weight))
        return moves


def run():
    torch.manual_seed(0)
    recipe = FullFinetuneRecipe(CFG)
    return recipe.train([torch.randint(0, 16, (4, 7)) for _ in range(8)])


def verify(outcome):
    assert outcome == [True] * 8  # a step at each micro-batch, with a quarter of its loss


TRUTH = Truth(
    fault="the hook steps each parameter in every backward: micro-batches are not accumulated but stepped one by one with loss / 4",
    names=("optim_step",),
    minor=True,  # What the loss is divided by may be anything; the steps are what one asks for with such hooks.
    repair=('if cfg["optimizer_in_bwd"] and self.accumulation == 1:',),
)
