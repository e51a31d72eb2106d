"""AG104: an op without derivative between the loss and trainable parameters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal

from .programs import diagnosed, inspected, line_of, silent, trained
from .twins import calm

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def classifier():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def test_accuracy_as_loss():
    """Accuracy is made of argmax and comparison; as a metric beside the loss it is fine."""

    def sick():
        net, optimizer = classifier()
        correct = net(X).argmax(dim=1) == Y
        trained(optimizer, 1 - correct.float().mean())

    def healthy():
        net, optimizer = classifier()
        logits = net(X)
        correct = logits.argmax(dim=1) == Y
        trained(optimizer, F.cross_entropy(logits, Y))
        return correct.float().mean()

    diagnosed(sick, "AG104", "argmax(dim=1) == Y", "argmax", "weight", severity="error")
    silent(healthy)


def test_threshold_as_gate():
    """A hard gate `(score > 0)` passes no gradient to the scorer; a sigmoid, or straight-through, does."""

    def gated(gate):
        scorer, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.Adam([*scorer.parameters(), *head.parameters()])
        trained(optimizer, F.cross_entropy(head(gate(scorer(X)) * X), Y))

    def hard(score):
        return (score > 0).float()

    def straight_through(score):
        soft = score.sigmoid()
        return (soft > 0.5).float() + soft - soft.detach()

    diagnosed(lambda: gated(hard), "AG104", "(score > 0)", "scorer.weight", severity="warning", where=hard)
    silent(lambda: gated(torch.sigmoid), lambda: gated(straight_through))


def test_integer_cast_of_a_prediction():
    """`.long()` and `.int()` cut; so does rounding by a cast and back."""

    def sick():
        net, optimizer = nn.Linear(4, 1), None
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        counts = net(X).squeeze(-1).long()
        trained(optimizer, F.mse_loss(counts.float(), Y.float()))

    def healthy():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        prediction = net(X).squeeze(-1)
        trained(optimizer, F.mse_loss(prediction, Y.float()))
        return prediction.long()

    diagnosed(sick, "AG104", ".long()", "long", "weight", severity="error")
    silent(healthy)


def test_token_ids_between_two_networks():
    """Feeding argmax ids of one model into the embedding of the next trains only the next."""

    def cascade(embed):
        writer, table, reader = nn.Linear(4, 6), nn.Embedding(6, 3), nn.Linear(3, 2)
        optimizer = torch.optim.Adam([*writer.parameters(), *table.parameters(), *reader.parameters()])
        trained(optimizer, F.cross_entropy(reader(embed(writer(X), table)), Y))

    def hard(logits, table):
        ids = logits.argmax(dim=-1)
        return table(ids)

    diagnosed(lambda: cascade(hard), "AG104", "logits.argmax(dim=-1)", "writer.weight", severity="warning", where=hard)
    silent(
        lambda: cascade(lambda logits, table: logits.softmax(-1) @ table.weight),
        lambda: cascade(lambda logits, table: F.gumbel_softmax(logits, hard=True) @ table.weight),
    )


def test_one_hot_of_predictions():
    """one_hot needs integers, so the derivative is lost one line earlier."""

    def sick():
        net, head = nn.Linear(4, 3), nn.Linear(3, 2)
        optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])
        onehot = F.one_hot(net(X).argmax(-1), 3).float()
        trained(optimizer, F.cross_entropy(head(onehot), Y))

    diagnosed(sick, "AG104", "F.one_hot(net(X).argmax(-1), 3)", "net.weight", severity="warning")


def test_sample_instead_of_rsample():
    """A variational encoder learns through rsample(); sample() draws under no_grad."""

    def vae(draw):
        encoder, decoder = nn.Linear(4, 4), nn.Linear(2, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        mu, log_sigma = encoder(X).chunk(2, dim=-1)
        trained(optimizer, F.mse_loss(decoder(draw(Normal(mu, log_sigma.exp()))), X))

    def sampled(posterior):
        return posterior.sample()

    diagnosed(
        lambda: vae(sampled), "AG104", "posterior.sample()", "encoder.weight", "rsample", severity="warning",
        where=sampled,
    )  # fmt: skip
    silent(lambda: vae(lambda posterior: posterior.rsample()))


def test_reward_of_a_sampled_action():
    """REINFORCE learns through log_prob; a loss on the sampled action itself teaches the policy nothing."""

    def sick():
        policy, value = nn.Linear(4, 3), nn.Embedding(3, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
        action = Categorical(logits=policy(X)).sample()
        trained(optimizer, -value(action).mean())

    def healthy():
        policy = nn.Linear(4, 3)
        optimizer = torch.optim.Adam(policy.parameters())
        dist = Categorical(logits=policy(X))
        action = dist.sample()
        reward = (action == 1).float()
        trained(optimizer, -(dist.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * dist.entropy().mean())

    diagnosed(sick, "AG104", ".sample()", "policy.weight", "log_prob", severity="warning")
    silent(healthy)


def test_multinomial_draw():
    """Drawing indices from probabilities has no derivative; REINFORCE or a Gumbel softmax gets around it."""

    def attended(weights):
        query, values = nn.Linear(4, 5), nn.Parameter(torch.randn(5, 2))
        optimizer = torch.optim.Adam([*query.parameters(), values])
        trained(optimizer, F.cross_entropy(weights(query(X).softmax(-1)) @ values, Y))

    def hard(probabilities):
        picked = probabilities.multinomial(1).squeeze(-1)
        return torch.eye(5)[picked]

    diagnosed(
        lambda: attended(hard), "AG104", "multinomial(1)", "multinomial", "query.weight", severity="warning", where=hard
    )
    silent(lambda: attended(lambda probabilities: probabilities))


def test_indices_of_topk():
    """Selecting by top-k indices keeps the values' gradient; using the indices as numbers does not."""

    def routed(weights):
        router, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
        optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()])
        outputs = torch.stack([expert(X) for expert in experts], dim=1)
        values, indices = router(X).softmax(-1).topk(2)
        chosen = outputs.gather(1, indices[..., None].expand(-1, -1, 2))
        trained(optimizer, F.cross_entropy((weights(values, indices)[..., None] * chosen).sum(1), Y))

    def by_rank(values, indices):
        return indices.float()

    finding = diagnosed(
        lambda: routed(by_rank), "AG104", "router(X).softmax(-1).topk(2)", "router.weight", severity="warning",
        where=routed,
    )  # fmt: skip
    assert "`topk`" in finding.message
    silent(lambda: routed(lambda values, indices: values))


def test_where_and_masks_of_predictions():
    """A condition carries no gradient, and needs none: the branches do."""

    def healthy():
        net, optimizer = classifier()
        logits = net(X)
        kept = torch.where(logits > 0, logits, 0.1 * logits)
        hardest = F.cross_entropy(kept, Y, reduction="none").sort(descending=True)
        top = hardest.values[:4]
        top = top[top > top.mean().detach() - 10]
        trained(optimizer, top.mean())

    silent(healthy)


def test_ranks_buckets_and_histograms():
    """Sorting order, bucket numbers and bin counts have no derivative."""

    def program(count):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, count(net(X).squeeze(-1)).float().pow(2).mean())

    def ranks(score):
        return score.argsort()

    def buckets(score):
        return torch.bucketize(score, torch.linspace(-1, 1, 5))

    def whole(score):
        return score.to(torch.int64)

    for sick, line in ((ranks, "score.argsort()"), (buckets, "torch.bucketize("), (whole, "torch.int64")):
        diagnosed(lambda sick=sick: program(sick), "AG104", line, "weight", severity="error", where=sick)
    silent(lambda: program(lambda score: score.sort().values))


def test_index_that_becomes_a_number_again():
    """The line that puts ones where the indices point is among the places: the scores themselves could stand there."""
    scores = nn.Parameter(torch.rand(4, 6))

    def program(*, ones):
        top = scores.topk(2, 1)
        adjacency = torch.zeros(4, 6).scatter(1, top.indices, torch.ones(4, 2) if ones else top.values)  # Written.
        trained(torch.optim.SGD([scores, net.weight], lr=0.1), net(adjacency).pow(2).mean())

    net = nn.Linear(6, 1, bias=False)
    finding = diagnosed(lambda: program(ones=True), "AG104", "scores.topk", "scores", severity="warning", where=program)
    assert any("# Written." in place.source for place in finding.locations)
    calm(lambda: program(ones=False))


def test_corner_of_a_crop():
    """A tensor within a slice is an index as well; corners that are drawn learn nothing, and need not."""

    def cropped(corner):
        locate, head = nn.Linear(4, 1), nn.Linear(3, 2)
        optimizer = torch.optim.SGD([*locate.parameters(), *head.parameters()], lr=0.1)
        starts = corner(locate(X)).squeeze(1)
        parts = [row[start : start + 3] for row, start in zip(F.pad(X, (2, 2)), starts, strict=True)]
        trained(optimizer, F.cross_entropy(head(torch.stack(parts)), Y) + 0.1 * locate(X).pow(2).mean())

    def predicted(out):
        return (out.sigmoid() * 4).long()

    def drawn(out):
        return torch.randint(0, 4, out.shape)

    report = inspected(lambda: cropped(predicted))
    (finding,) = [found for found in report.findings if found.rule == "AG104"]
    assert finding.locations[0].lineno == line_of(predicted, ".long()")
    assert finding.severity == "info"  # Another term of the loss trains it.
    silent(lambda: cropped(drawn))
