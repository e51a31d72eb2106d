"""Vision: the weight average is made before --resume loads the checkpoint, so it averages from a random network."""

import copy
import io
from types import SimpleNamespace

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.block = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU())
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.block(self.stem(x)).mean((2, 3)))


class ModelEmaV2(nn.Module):
    def __init__(self, model, decay=0.999):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            if ema_v.dtype.is_floating_point:
                ema_v.copy_(self.decay * ema_v + (1.0 - self.decay) * model_v)
            else:
                ema_v.copy_(model_v)


def resume_checkpoint(model, path, optimizer=None):
    checkpoint = torch.load(path, weights_only=True)
    model.load_state_dict(checkpoint["state_dict"])
    if optimizer is not None and "optimizer" in checkpoint:
        optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"] + 1


def earlier_run(loader):
    """What the interrupted job left behind."""
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train_one_epoch(0, model, loader, optimizer, nn.CrossEntropyLoss(), None)
    file = io.BytesIO()
    torch.save({"epoch": 0, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    return file


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, model_ema):
    model.train()
    for input, target in loader:
        loss = loss_fn(model(input), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if model_ema is not None:
            model_ema.update(model)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).float().mean().item() for x, y in loader) / len(loader)


def run():
    torch.manual_seed(42)
    args = SimpleNamespace(model_ema=True, model_ema_decay=0.999, lr=0.1, epochs=2)
    loader = [(torch.randn(8, 3, 12, 12), torch.randint(0, 4, (8,))) for _ in range(2)]
    args.resume = earlier_run(loader)

    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model_ema, start_epoch = None, 0
    if args.model_ema:
        model_ema = ModelEmaV2(model, decay=args.model_ema_decay)  # cause
    if args.resume:
        start_epoch = resume_checkpoint(model, args.resume, optimizer)  # cause
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(start_epoch, args.epochs):
        train_one_epoch(epoch, model, loader, optimizer, loss_fn, model_ema)
        validate(model, loader)
        validate(model_ema.module, loader)
    args.resume.seek(0)
    saved = torch.load(args.resume, weights_only=True)["state_dict"]
    return saved["block.0.weight"], model.block[0].weight.detach(), model_ema.module.block[0].weight.detach()


def verify(outcome):
    saved, model, ema = outcome
    assert (ema - saved).norm() > 2 * (model - saved).norm()


TRUTH = Truth(
    fault="the EMA was copied from the model before the checkpoint was loaded into it",
    names=("model_ema",),
    repair=(
        "start_epoch = resume_checkpoint(model, args.resume, optimizer) if args.resume else 0\nmodel_ema = ModelEmaV2(model, decay=args.model_ema_decay)",
        "pass",
    ),
)
