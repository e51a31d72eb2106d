"""AG411: a part that nothing trains and that runs in train mode: a teacher, a frozen backbone."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def dropping(width):
    return nn.Sequential(nn.Linear(4, width), nn.Dropout(0.5), nn.Linear(width, 2))


def normalised(width):
    return nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 2))


def distilled(teacher, student, after=lambda: None):
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            target = teacher(X)  # answers
        trained(optimizer, F.mse_loss(student(X), target))
        after()


def test_teacher_that_was_never_put_into_eval_mode():
    """Its dropout draws, or its batch norm counts, under no_grad as well."""
    for make, effect in ((dropping, "drops values at random"), (normalised, "updates its running statistics")):
        finding = diagnosed(
            lambda make=make: distilled(make(8), make(6)), "AG411", "# answers", "teacher.1", severity="warning",
            where=distilled,
        )  # fmt: skip
        assert effect in finding.message
        calm(lambda make=make: distilled(make(8).eval(), make(6)))


class Learner(nn.Module):
    """Holds its teacher, frozen, as a part of itself."""

    def __init__(self):
        super().__init__()
        self.teacher = normalised(8).requires_grad_(False).eval()  # for ever
        self.student = normalised(6)

    def loss(self):
        return F.mse_loss(self.student(X), self.teacher(X))


def test_eval_that_the_train_of_the_whole_undoes():
    """`train()` of the model reaches the part that was to stay in eval mode."""

    def program(*, again):
        model = Learner()
        optimizer = torch.optim.SGD(model.student.parameters(), lr=0.1)
        for _ in range(2):
            model.train()  # all of it
            if again:
                model.teacher.eval()
            trained(optimizer, model.loss())

    finding = diagnosed(
        lambda: program(again=False), "AG411", "# all of it", "teacher.1", severity="warning", where=program
    )
    assert "Sequential.eval() has no effect on model.teacher" in finding.message
    calm(lambda: program(again=True))


class Distiller(nn.Module):
    """Is given a teacher that was a model by itself."""

    def __init__(self, teacher, *, evaluated=True):
        super().__init__()
        self.teacher, self.student = teacher.requires_grad_(False), normalised(6)
        if evaluated:
            self.teacher.eval()

    def forward(self):
        return F.mse_loss(self.student(X), self.teacher(X))


def test_teacher_that_was_a_model_of_its_own_before():
    """It was called by itself, so the switch to eval mode befell another model than the one that took it back."""

    def program(*, whole, again, look=lambda teacher: None):
        teacher = normalised(8)
        with torch.no_grad():
            teacher(X)
        model = Distiller(teacher, evaluated=not look(teacher))
        if whole:
            model = nn.Sequential(nn.ModuleDict({"distiller": model}))
        inner = model[0]["distiller"] if whole else model
        optimizer = torch.optim.SGD(inner.student.parameters(), lr=0.1)
        for _ in range(2):
            model.train()  # all of it
            if again:
                teacher.eval()
            trained(optimizer, inner())

    for whole in (False, True):
        finding = diagnosed(
            lambda whole=whole: program(whole=whole, again=False), "AG411", "# all of it", "teacher.1",
            severity="warning", where=program,
        )  # fmt: skip
        assert "Sequential.eval() has no effect on" in finding.message
    calm(
        lambda: program(whole=False, again=True),
        lambda: program(whole=True, again=True),
        lambda: program(whole=False, again=False, look=lambda teacher: [teacher.eval()(X)]),  # to look at it, by itself
    )


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)).requires_grad_(False)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


def test_frozen_backbone_in_train_mode():
    """Its statistics may adapt on purpose: an eval() that was taken back tells otherwise; freezing gives a hint."""

    def tuned(prepare):
        net = Tuned()
        prepare(net)
        net.train()
        optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: tuned(lambda net: net.backbone.eval()), "AG411", "net.train()", "backbone.1", "backbone.2",
        severity="warning", where=tuned,
    )  # fmt: skip
    calm(
        lambda: tuned(lambda net: None),
        lambda: tuned(lambda net: net.backbone.eval()(X)),  # for a look at its features
        lambda: tuned(lambda net: net.eval()),
    )

    def frozen(net):
        net.backbone.requires_grad_(False)

    (finding,) = inspected(lambda: tuned(frozen)).findings
    assert (finding.rule, finding.severity) == ("AG411", "info"), finding
    assert finding.locations[0].source.strip() == "net.train()"
    assert "net.backbone.1 updates its running statistics" in finding.message

    def without_statistics(net):
        net.backbone = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5)).requires_grad_(False)

    report = inspected(lambda: tuned(without_statistics))
    assert not report.findings, report.findings


def test_statistics_that_were_to_stay():
    """Batch norms that learn, put into eval mode one by one; what is evaluated as a whole, or looked at, is not."""

    def program(freeze, *, late=False):
        net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            if not late:
                freeze(net)
            net.train()  # all of it
            if late:
                freeze(net)
            trained(optimizer, F.cross_entropy(net(X), Y))
            net.eval()
            with torch.no_grad():
                net(X)

    def each(net):
        for layer in net.modules():
            if isinstance(layer, nn.BatchNorm1d):
                layer.eval()

    def both(net):
        net.apply(lambda layer: layer.eval() if isinstance(layer, nn.BatchNorm1d) else None)

    def everything(net):
        for layer in net.modules():
            layer.eval()

    def looked_at(net):
        net[1].eval()(torch.randn(8, 6))

    for freeze in (each, both):
        finding = diagnosed(
            lambda freeze=freeze: program(freeze), "AG411", "# all of it", "net.1 and net.3", "has no effect",
            severity="warning", where=program,
        )  # fmt: skip
        assert "running_mean" in finding.message
        calm(lambda freeze=freeze: program(freeze, late=True))
    calm(lambda: program(everything), lambda: program(looked_at), lambda: program(lambda net: net.eval()))


def test_targets_that_are_noisy_on_purpose():
    """They follow what learns, were put into train mode by name, or are a copy of what learns."""

    def averaged():
        student = dropping(6)
        teacher = copy.deepcopy(student).requires_grad_(False)

        def follow():
            with torch.no_grad():
                for mine, its in zip(teacher.parameters(), student.parameters(), strict=True):
                    mine.lerp_(its, 0.1)

        distilled(teacher, student, follow)

    def loaded_now_and_then():
        student = normalised(6)
        teacher = copy.deepcopy(student).requires_grad_(False)
        nn.init.ones_(student[2].bias)
        distilled(teacher, student)

    def by_name():
        distilled(dropping(8).train(), dropping(6))

    def without_dropout():
        distilled(nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.0), nn.Linear(3, 2)), dropping(6))

    calm(averaged, loaded_now_and_then, by_name, without_dropout)


def test_frozen_features():
    """What a model that learns goes on to compute with is no target: frozen layers around adapters."""

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = dropping(6).requires_grad_(False), nn.Linear(2, 2).requires_grad_(False)
            self.adapter = nn.Linear(2, 2)

        def forward(self, x):
            h = self.first(x)
            return self.last(h + self.adapter(h))

    def adapted():
        net = Adapted()
        optimizer = torch.optim.SGD(net.adapter.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    def probed():
        body, head = dropping(6), nn.Linear(2, 2)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(2):
            with torch.no_grad():
                features = body(X)
            trained(optimizer, F.cross_entropy(head(features), Y))

    calm(adapted, probed)


def audited(audit):
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.2), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net.train()
        trained(optimizer, F.cross_entropy(net(X), Y))
        audit(net)


def test_eval_is_named_and_not_called():
    """An evaluation in train mode has effects; where nothing drops or counts, or `eval` is called, there are none."""

    @torch.no_grad()
    def forgotten(net):
        net.eval
        net(X)

    @torch.no_grad()
    def evaluated(net):
        net.eval()
        net(X)

    @torch.no_grad()
    def sampled(net):
        net(X)

    diagnosed(
        lambda: audited(forgotten), "AG411", "net.eval", "updates its running statistics", "drops values at random",
        severity="warning", where=forgotten,
    )  # fmt: skip
    calm(lambda: audited(evaluated), lambda: audited(sampled))
