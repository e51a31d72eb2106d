"""AG101 where programs stop gradients on purpose: the right stop is silent, the wrong one is told."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

import autograd_inspector

from .programs import diagnosed, inspected, line_of, silent, summary, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_straight_through_estimator_with_misplaced_parenthesis():
    """`z + (q - z).detach()` lets gradient through to z; `(z + q - z).detach()` does not."""

    def quantizer(through):
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        codebook = torch.randn(5, 3)
        z = encoder(X)
        q = codebook[torch.cdist(z, codebook).argmin(dim=1)]
        trained(optimizer, F.mse_loss(decoder(through(z, q)), X))

    def sick():
        quantizer(lambda z, q: (z + (q - z)).detach())

    def healthy():
        quantizer(lambda z, q: z + (q - z).detach())

    diagnosed(sick, "AG101", "(z + (q - z)).detach()", "encoder.weight", severity="warning")
    silent(healthy)


def test_codebook_that_only_meets_detached_codes():
    """In a VQ-VAE without the codebook loss every use of the codebook is detached, and the codebook stays as it was."""

    def sick():
        encoder, decoder, codes = nn.Linear(4, 3), nn.Linear(3, 4), nn.Embedding(5, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()])
        z = encoder(X)
        q = codes(torch.cdist(z, codes.weight).argmin(dim=1)).detach()
        reconstruction = F.mse_loss(decoder(z + (q - z).detach()), X)
        trained(optimizer, reconstruction + 0.25 * F.mse_loss(z, q))

    def healthy():
        encoder, decoder, codes = nn.Linear(4, 3), nn.Linear(3, 4), nn.Embedding(5, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()])
        z = encoder(X)
        q = codes(torch.cdist(z, codes.weight).argmin(dim=1))
        reconstruction = F.mse_loss(decoder(z + (q - z).detach()), X)
        trained(optimizer, reconstruction + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach()))

    diagnosed(sick, "AG101", "argmin(dim=1)).detach()", "codes.weight", severity="warning")
    silent(healthy)


def test_generator_cut_off_from_its_own_loss():
    """The discriminator's loss is detached from the generator by intention: only the generator's own loss is told."""

    def adversarial(own):
        generator, discriminator = nn.Linear(2, 4), nn.Linear(4, 1)
        generating = torch.optim.Adam(generator.parameters())
        discriminating = torch.optim.Adam(discriminator.parameters())
        for _ in range(2):
            fake = generator(X[:, :2])
            trained(
                discriminating, F.softplus(-discriminator(X)).mean() + F.softplus(discriminator(fake.detach())).mean()
            )
            trained(generating, F.softplus(-discriminator(own(fake))).mean())

    def sick():
        adversarial(lambda fake: fake.detach().clone())

    finding = diagnosed(sick, "AG101", "fake.detach().clone()", "generator.weight", severity="warning")
    assert not any("softplus(discriminator(fake.detach()))" in place.source for place in finding.locations)
    silent(lambda: adversarial(lambda fake: fake))


def test_both_losses_of_one_step_are_cut():
    """Where several backward runs lead to the same step, the cuts of all of them are told."""

    def sick():
        encoder, first, second = nn.Linear(4, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        optimizer = torch.optim.Adam([*encoder.parameters(), *first.parameters(), *second.parameters()])
        hidden = encoder(X)
        first(hidden.detach()).mean().backward()
        second(hidden.clone().detach()).mean().backward()
        optimizer.step()

    with autograd_inspector.inspect() as inspection:
        sick()
    told = {finding.locations[0].source for finding in inspection.report.findings if finding.rule == "AG101"}
    assert told == {"first(hidden.detach()).mean().backward()", "second(hidden.clone().detach()).mean().backward()"}


def test_momentum_contrast():
    """MoCo's keys are detached and its key encoder is in no optimizer; detached queries train nothing."""

    def moco(query):
        encoder = nn.Linear(4, 6)
        momentum, queue = copy.deepcopy(encoder).requires_grad_(False), F.normalize(torch.randn(16, 6), dim=1)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        for at in (0, 8):
            q = query(encoder)
            with torch.no_grad():
                for slow, fast in zip(momentum.parameters(), encoder.parameters(), strict=True):
                    slow.mul_(0.99).add_(fast, alpha=0.01)
                k = F.normalize(momentum(X + 0.1), dim=1)
            positive, negative = (q * k).sum(1, keepdim=True), q @ queue.clone().detach().T
            logits = torch.cat([positive, negative], dim=1) / 0.07
            trained(optimizer, F.cross_entropy(logits, torch.zeros(8, dtype=torch.long)))
            queue[at : at + 8] = k

    def sick():
        def query(encoder):
            q = F.normalize(encoder(X), dim=1)
            return q.detach()

        moco(query)

    def healthy():
        moco(lambda encoder: F.normalize(encoder(X), dim=1))

    diagnosed(sick, "AG101", "return q.detach()", "weight", "does not require grad", severity="error")
    silent(healthy)


def test_distillation_with_the_student_detached():
    """A teacher's logits are detached, a student's are not."""

    def distilled(divergence):
        teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
        optimizer = torch.optim.Adam(student.parameters())
        trained(optimizer, divergence(teacher(X), student(X)))

    def sick():
        def divergence(teacher, student):
            return F.kl_div(student.detach().log_softmax(-1), teacher.softmax(-1), reduction="batchmean")

        distilled(divergence)

    def healthy():
        def divergence(teacher, student):
            return F.kl_div(student.log_softmax(-1), teacher.detach().softmax(-1), reduction="batchmean")

        distilled(divergence)

    # The teacher's graph makes the loss require grad, so backward runs and the student silently stays as it was.
    diagnosed(sick, "AG101", "student.detach()", "student.weight", severity="warning", besides=("AG404",))
    silent(healthy)


def test_gradient_penalty_without_create_graph():
    """What `autograd.grad` returns has no graph unless create_graph=True, so a loss made of it cannot be trained."""

    def sick():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(net(x).sum(), x)
        trained(optimizer, (slope.norm(dim=1) - 1).pow(2).mean())

    def healthy():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        trained(optimizer, (slope.norm(dim=1) - 1).pow(2).mean() - net(X).mean())

    diagnosed(sick, "AG101", "torch.autograd.grad(net(x)", "create_graph", severity="error")
    silent(healthy)


def test_generated_weights_wrapped_in_a_parameter():
    """nn.Parameter(t) starts a new leaf: a hypernetwork whose output goes through it never learns."""

    def hyper(weights):
        maker, x = nn.Linear(3, 8), torch.randn(5, 4)
        optimizer = torch.optim.Adam(maker.parameters())
        trained(optimizer, F.linear(x, weights(maker(torch.randn(3)).view(2, 4))).pow(2).mean())

    def sick():
        def wrapped(values):
            return nn.Parameter(values)

        hyper(wrapped)

    diagnosed(sick, "AG101", "return nn.Parameter(values)", "weight", "nn.Parameter", severity="warning")
    silent(lambda: hyper(lambda values: values))


def test_hypernetwork_that_fills_parameters():
    """Copying generated weights into `.data` cuts them off; calling the layer functionally does not."""

    def sick():
        maker, layer = nn.Linear(3, 8), nn.Linear(4, 2, bias=False)
        optimizer = torch.optim.Adam([*maker.parameters()])
        layer.weight.data = maker(torch.randn(3)).view(2, 4)
        trained(optimizer, F.cross_entropy(layer(X), Y))

    def healthy():
        maker, layer = nn.Linear(3, 8), nn.Linear(4, 2, bias=False)
        optimizer = torch.optim.Adam([*maker.parameters()])
        weight = maker(torch.randn(3)).view(2, 4)
        trained(optimizer, F.cross_entropy(torch.func.functional_call(layer, {"weight": weight}, (X,)), Y))

    diagnosed(sick, "AG101", "layer.weight.data =", "maker.weight", ".data", severity="warning", besides=("AG404",))
    silent(healthy)


def test_detached_loss_made_to_require_grad():
    """`requires_grad_()` on a detached loss lets backward run, on a graph of one node."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = F.cross_entropy(net(X), Y).detach()
        loss.requires_grad = True
        trained(optimizer, loss)

    diagnosed(sick, "AG101", "net(X), Y).detach()", "weight", severity="warning")


def test_input_gradient_asked_for_a_detached_copy():
    """Adversarial examples: the gradient has to be asked for the tensor that the model got."""

    def sick():
        net = nn.Linear(4, 2)
        x = X.clone().requires_grad_()
        loss = F.cross_entropy(net(x.detach()), Y)
        return torch.autograd.grad(loss, x)

    def healthy():
        net = nn.Linear(4, 2)
        x = X.clone().detach().requires_grad_()
        (gradient,) = torch.autograd.grad(F.cross_entropy(net(x), Y), x)
        adversarial = (x + 0.1 * gradient.sign()).detach()
        return net(adversarial).argmax(dim=1)

    diagnosed(sick, "AG101", "net(x.detach())", "x", severity="error")
    silent(healthy)


def test_latest_cut_of_a_term_comes_first():
    """A snapshot of before, and the `.data` that the penalty is computed from: without the latter nothing changes."""

    def program():
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        anchor = net.weight.detach().clone()
        for _ in range(2):
            distance = (net.weight.data - anchor).pow(2).sum()  # penalty
            optimizer.zero_grad()
            (net(torch.ones(2, 4)).pow(2).mean() + distance).backward()
            optimizer.step()

    report = inspected(program)
    cuts = [finding for finding in report.findings if finding.rule == "AG101" and finding.severity == "warning"]
    assert cuts[0].locations[0].lineno == line_of(program, "# penalty"), summary(report)
