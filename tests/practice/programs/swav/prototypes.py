"""SwAV: in-place normalised prototypes, a Sinkhorn loop without gradient, prototypes frozen by dropping their gradient; all right."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

ARGS = {"epsilon": 0.05, "sinkhorn_iterations": 3, "temperature": 0.1, "freeze_prototypes_niters": 2, "queue_length": 8}


class ResNetTiny(nn.Module):
    def __init__(self, output_dim=8, nmb_prototypes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.projection_head = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, output_dim))
        self.prototypes = nn.Linear(output_dim, nmb_prototypes, bias=False)

    def forward(self, inputs):
        x = torch.cat([self.features(i).mean((2, 3)) for i in inputs])
        x = F.normalize(self.projection_head(x), dim=1, p=2)
        return x, self.prototypes(x)


@torch.no_grad()
def distributed_sinkhorn(out):
    Q = torch.exp(out / ARGS["epsilon"]).t()
    K, B = Q.shape
    Q /= Q.sum()
    for _ in range(ARGS["sinkhorn_iterations"]):
        Q /= Q.sum(dim=1, keepdim=True)
        Q /= K
        Q /= Q.sum(dim=0, keepdim=True)
        Q /= B
    Q *= B
    return Q.t()


def train_one_iteration(model, optimizer, queue, inputs, iteration):
    bs = inputs[0].size(0)
    with torch.no_grad():
        w = model.prototypes.weight.data.clone()
        w = F.normalize(w, dim=1, p=2)
        model.prototypes.weight.copy_(w)

    embedding, output = model(inputs)
    embedding = embedding.detach()
    loss = 0
    for crop_id in range(2):
        with torch.no_grad():
            out = output[bs * crop_id : bs * (crop_id + 1)].detach()
            if not torch.all(queue[crop_id, -1, :] == 0):
                out = torch.cat((torch.mm(queue[crop_id], model.prototypes.weight.t()), out))
            queue[crop_id, bs:] = queue[crop_id, :-bs].clone()
            queue[crop_id, :bs] = embedding[crop_id * bs : (crop_id + 1) * bs]
            q = distributed_sinkhorn(out)[-bs:]
        subloss = 0
        for v in range(len(inputs)):
            if v != crop_id:
                x = output[bs * v : bs * (v + 1)] / ARGS["temperature"]
                subloss -= torch.mean(torch.sum(q * F.log_softmax(x, dim=1), dim=1))
        loss += subloss / (len(inputs) - 1)
    loss /= 2

    optimizer.zero_grad()
    loss.backward()
    if iteration < ARGS["freeze_prototypes_niters"]:
        for name, p in model.named_parameters():
            if "prototypes" in name:
                p.grad = None
    optimizer.step()


def run():
    torch.manual_seed(0)
    model = ResNetTiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-6)
    queue = torch.zeros(2, ARGS["queue_length"], 8)
    normed = F.normalize(model.prototypes.weight.detach(), dim=1)
    start, history = model.features[0].weight.detach().clone(), []
    for iteration in range(4):
        inputs = [torch.randn(4, 3, 8, 8) for _ in range(3)]
        train_one_iteration(model, optimizer, queue, inputs, iteration)
        history.append(torch.allclose(normed, F.normalize(model.prototypes.weight.detach(), dim=1), atol=1e-5))
    return history, torch.equal(start, model.features[0].weight)


def verify(outcome):
    history, still = outcome
    assert history == [True, True, False, False] and not still, outcome


TRUTH = Truth()
