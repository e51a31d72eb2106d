"""FitNets: the hint's regressor is made anew in every call, so it is never trained."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WideResNet(nn.Module):
    def __init__(self, width, n_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, 2, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.fc = nn.Linear(2 * width, n_classes)

    def forward(self, x, is_feat=False):
        f1 = F.relu(self.bn1(self.conv1(x)))
        f2 = F.relu(self.bn2(self.conv2(f1)))
        logits = self.fc(f2.mean((2, 3)))
        return ([f1, f2], logits) if is_feat else logits


class DistillKL(nn.Module):
    def __init__(self, T):
        super().__init__()
        self.T = T

    def forward(self, y_s, y_t):
        p_s, p_t = F.log_softmax(y_s / self.T, dim=1), F.softmax(y_t / self.T, dim=1)
        return F.kl_div(p_s, p_t, reduction="batchmean") * self.T**2


class HintLoss(nn.Module):
    """Fitnets: hints for thin deep nets, ICLR 2015."""

    def __init__(self):
        super().__init__()
        self.regressor = None
        self.crit = nn.MSELoss()

    def build(self, f_s, f_t):
        self.regressor = nn.Conv2d(f_s.size(1), f_t.size(1), 1)
        return self.regressor

    def forward(self, f_s, f_t):
        regressor = self.build(f_s, f_t)  # cause
        return self.crit(regressor(f_s), f_t)


def train_distill(student, teacher, loader, opt):
    criterion_cls, criterion_div, criterion_kd = nn.CrossEntropyLoss(), DistillKL(4.0), HintLoss()
    feats_s, _ = student(torch.randn(2, 3, 8, 8), is_feat=True)
    feats_t, _ = teacher(torch.randn(2, 3, 8, 8), is_feat=True)
    criterion_kd.build(feats_s[opt["hint"]], feats_t[opt["hint"]])
    trainable = nn.ModuleList([student, criterion_kd])
    optimizer = torch.optim.SGD(trainable.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0)
    start = criterion_kd.regressor.weight
    initial = start.detach().clone()
    student.train()
    teacher.eval()
    for images, target in loader:
        feat_s, logit_s = student(images, is_feat=True)
        with torch.no_grad():
            feat_t, logit_t = teacher(images, is_feat=True)
        loss = criterion_cls(logit_s, target) + 0.9 * criterion_div(logit_s, logit_t)
        loss = loss + 50 * criterion_kd(feat_s[opt["hint"]], feat_t[opt["hint"]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.equal(start, initial), criterion_kd.regressor.weight is start


def run():
    torch.manual_seed(0)
    loader = [(torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))) for _ in range(3)]
    return train_distill(WideResNet(4), WideResNet(8), loader, {"hint": 1})


def verify(outcome):
    assert outcome == (True, False), outcome


TRUTH = Truth(
    fault="each forward of HintLoss makes a fresh regressor; the one in the optimizer is not used",
    names=("regressor",),
    repair=("regressor = self.regressor",),
)
