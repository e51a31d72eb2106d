"""Vision: the reset of the average during warm-up compares the step and not the epoch, so the EMA is a copy of the model to the end."""

import math
from types import SimpleNamespace

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class ExponentialMovingAverage(torch.optim.swa_utils.AveragedModel):
    """Maintains moving averages of model parameters using an exponential decay."""

    def __init__(self, model, decay, device="cpu"):
        def ema_avg(avg_model_param, model_param, num_averaged):
            return decay * avg_model_param + (1 - decay) * model_param

        super().__init__(model, device, ema_avg, use_buffers=True)


class ConvNormActivation(nn.Sequential):
    def __init__(self, cin, cout, stride=1, groups=1):
        super().__init__(
            nn.Conv2d(cin, cout, 3, stride, 1, groups=groups, bias=False),
            nn.BatchNorm2d(cout),
            nn.Hardswish(inplace=True),
        )


class MobileNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.features = nn.Sequential(
            ConvNormActivation(3, 8, 2), ConvNormActivation(8, 8, 1, 8), ConvNormActivation(8, 12, 2)
        )
        self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(12, num_classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def set_weight_decay(model, weight_decay, norm_weight_decay):
    norm, other = [], []
    for module in model.modules():
        target = norm if isinstance(module, nn.BatchNorm2d) else other
        target.extend(p for p in module.parameters(recurse=False))
    return [{"params": other, "weight_decay": weight_decay}, {"params": norm, "weight_decay": norm_weight_decay}]


def train_one_epoch(model, criterion, optimizer, data_loader, epoch, args, model_ema=None):
    model.train()
    for i, (image, target) in enumerate(data_loader):
        output = model(image)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        if args.clip_grad_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad_norm)
        optimizer.step()
        if model_ema and i % args.model_ema_steps == 0:
            model_ema.update_parameters(model)
            if i < args.lr_warmup_epochs:  # cause
                # Reset ema buffer to keep copying weights during warmup period
                model_ema.n_averaged.fill_(0)  # also


def evaluate(model, data_loader):
    model.eval()
    with torch.inference_mode():
        return sum((model(x).argmax(1) == y).float().mean().item() for x, y in data_loader)


def run():
    torch.manual_seed(0)
    args = SimpleNamespace(
        lr=0.1, epochs=4, lr_warmup_epochs=2, clip_grad_norm=1.0, model_ema_steps=1, model_ema_decay=0.99
    )
    loader = [(torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))) for _ in range(2)]
    model = MobileNet()
    optimizer = torch.optim.SGD(set_weight_decay(model, 2e-5, 0.0), lr=args.lr, momentum=0.9, nesterov=True)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=args.lr_warmup_epochs)
    main = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs - args.lr_warmup_epochs)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, main], milestones=[args.lr_warmup_epochs])
    adjust = len(loader) * args.model_ema_steps / args.epochs
    model_ema = ExponentialMovingAverage(model, decay=1.0 - min(1.0, (1.0 - args.model_ema_decay) * max(adjust, 1.0)))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(args.epochs):
        train_one_epoch(model, criterion, optimizer, loader, epoch, args, model_ema)
        scheduler.step()
        evaluate(model, loader)
        evaluate(model_ema, loader)
    assert math.isfinite(optimizer.param_groups[0]["lr"])
    return model.classifier[1].weight.detach(), model_ema.module.classifier[1].weight.detach()


def verify(outcome):
    model, ema = outcome
    assert torch.equal(model, ema)


TRUTH = Truth(
    fault="the average is reset after every step, the EMA always equals the model",
    names=("n_averaged", "model_ema"),
    repair=("if epoch < args.lr_warmup_epochs:",),
)
