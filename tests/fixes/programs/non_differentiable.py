"""What an op without derivative, Python, NumPy or a pickle cut off the loss (AG104, AG105)."""

from __future__ import annotations

from tests.fixes.cases import by, case

GROUP = """
import torch.distributed.nn
store = torch.distributed.HashStore()
if not torch.distributed.is_initialized():
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
"""

CASES = {
    "a policy's argmax is trained on": case(
        "AG104",
        """
policy, values = nn.Linear(4, 5), nn.Embedding(5, 3)
optimizer = torch.optim.SGD([*policy.parameters(), *values.parameters()], lr=0.1)
scores = policy(torch.randn(3, 4))
choice = scores.argmax(dim=1)
chosen = values(choice)
chosen.pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Train on the value before `argmax` (a probability, a softmax",
            "chosen = values(choice)",
            "chosen = scores.softmax(dim=1) @ values.weight",
        ),
        by(
            "a straight-through estimator `soft + (hard - soft).detach()`",
            "chosen = values(choice)",
            "hard, soft = F.one_hot(choice, 5), scores.softmax(dim=1)\nchosen = (soft + (hard - soft).detach()) @ values.weight",
        ),
        symptom="policy.weight.grad is None",
    ),
    "an encoder's sample has no way back": case(
        "AG104",
        """
encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
x = torch.randn(3, 4)
normal = torch.distributions.Normal(encoder(x), 1.0)
z = normal.sample()
loss = (decoder(z) - x).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by("Use rsample() where the distribution has it", ".sample()", ".rsample()"),
        by(
            "train through log_prob(sample)",
            "loss = (decoder(z) - x).pow(2).mean()",
            "error = (decoder(z) - x).pow(2).mean(1)\nloss = (error + error.detach() * normal.log_prob(z).sum(1)).mean()",
        ),
        symptom="encoder.weight.grad is None",
    ),
    "only the KL term trains an encoder": case(
        "AG104",
        """
encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
x = torch.randn(3, 4)
mean = encoder(x)
mean.retain_grad()
normal = torch.distributions.Normal(mean, 1.0)
z = normal.sample()
loss = (decoder(z) - x).pow(2).sum()
loss = loss + 0.5 * mean.pow(2).sum()
loss.backward()
optimizer.step()
""",
        by("Use rsample()", ".sample()", ".rsample()"),
        by(
            "train through log_prob(sample)",
            "loss = (decoder(z) - x).pow(2).sum()",
            "error = (decoder(z) - x).pow(2).sum(1)\nloss = (error + error.detach() * normal.log_prob(z).sum(1)).sum()",
        ),
        symptom="torch.equal(mean.grad, mean)",
    ),
    "torch.normal draws what is trained on": case(
        "AG104",
        """
encoder = nn.Linear(4, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
mean = encoder(torch.randn(3, 4))
std = torch.ones(3, 4)
z = torch.normal(mean, std)
loss = z.pow(2).mean()
loss.backward()
optimizer.step()
""",
        by("`mean + std * torch.randn_like(std)`", "torch.normal(mean, std)", "mean + std * torch.randn_like(std)"),
        by("rsample() of a distribution", "torch.normal(mean, std)", "torch.distributions.Normal(mean, std).rsample()"),
        by(
            "train through log_prob(sample)",
            "torch.normal(mean, std)",
            "torch.normal(mean.detach(), std)",
            "loss = z.pow(2).mean()",
            "loss = (z.pow(2) * torch.distributions.Normal(mean, std).log_prob(z)).mean()",
        ),
        symptom="not encoder.weight.grad.any()",
    ),
    "backward goes through an op without derivative": case(
        "AG104",
        """
net = nn.Linear(4, 1)
a = net(torch.randn(3, 4)).exp()
x = torch.rand(3, 1, requires_grad=True)
y = torch.igamma(a, x)
y.sum().backward()
""",
        by(
            "Detach its input if no gradient must flow through `igamma`",
            "igamma(a, x)",
            "igamma(a.detach(), x)",
        ),
        by("use other ops", "torch.igamma(a, x)", "1 - torch.exp(-x) * (a / a)"),
    ),
    "backward goes through a custom op without formula": case(
        "AG104",
        """
net = nn.Linear(4, 1)
y = doubled(net(torch.randn(3, 4)))
(y.mean() + net.bias.sum()).backward()
""",
        by(
            "Register one with `doubled.register_autograd(backward, setup_context=...)`",
            "net = nn.Linear(4, 1)",
            "net = nn.Linear(4, 1)\ndoubled.register_autograd(lambda ctx, grad: grad * 2)",
        ),
        by(
            "detach its input if no gradient must flow through `doubled`",
            "doubled(net(torch.randn(3, 4)))",
            "doubled(net(torch.randn(3, 4)).detach())",
        ),
        by("use torch's own ops", "doubled(net", "2 * (net"),
        before="""
@torch.library.custom_op("inspector_fixes::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2
""",
    ),
    "integers are to require grad": case(
        "AG104",
        """
w = torch.tensor([1, 2, 3])
w.requires_grad_()
(w * 2.0).sum().backward()
""",
        by("`1.0` instead of `1`", "[1, 2, 3]", "[1.0, 2.0, 3.0]"),
        by("`dtype=torch.float32`", "[1, 2, 3]", "[1, 2, 3], dtype=torch.float32"),
        by("`.float()`", "[1, 2, 3])", "[1, 2, 3]).float()"),
    ),
    "the loss is made again of its number": case(
        "AG105",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(3, 4)).pow(2).mean()
total = torch.tensor(loss.item(), requires_grad=True)
total.backward()
optimizer.step()
""",
        by(
            "Use loss itself: no torch.tensor(), item() or NumPy between the model and backward()",
            "torch.tensor(loss.item(), requires_grad=True)",
            "loss",
        ),
        symptom="net.weight.grad is None",
    ),
    "features go through a pickle": case(
        "AG105",
        """
import io
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
features = encoder(torch.randn(3, 4))
file = io.BytesIO()
torch.save(features, file)
file.seek(0)
kept = torch.load(file)
head(kept).pow(2).mean().backward()
optimizer.step()
""",
        by("Use features itself", "head(kept)", "head(features)"),
        symptom="encoder.weight.grad is None",
    ),
    "what other ranks computed is gathered": case(
        "AG105",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
mine = net(torch.randn(3, 4))
every = [torch.zeros_like(mine)]
torch.distributed.all_gather(every, mine)
(torch.cat(every).pow(2).mean() + net.bias.sum()).backward()
optimizer.step()
torch.distributed.destroy_process_group()
""",
        by(
            "Use torch.distributed.nn.functional.all_gather, which has a gradient",
            "torch.distributed.all_gather(every, mine)",
            "every = torch.distributed.nn.functional.all_gather(mine)",
        ),
        by(
            "replace this rank's entry of the gathered list with the local tensor",
            "(torch.cat",
            "every[torch.distributed.get_rank()] = mine\n(torch.cat",
        ),
        symptom="net.weight.grad is None",
        before=GROUP,
    ),
    "parts are exchanged between ranks": case(
        "AG105",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
mine = net(torch.randn(3, 4))
every = torch.empty(3, 2)
torch.distributed.all_to_all_single(every, mine)
(every.pow(2).mean() + net.bias.sum()).backward()
optimizer.step()
torch.distributed.destroy_process_group()
""",
        by(
            "Use torch.distributed.nn.functional.all_to_all_single, which has a gradient",
            "torch.distributed.all_to_all_single(every, mine)",
            "every = torch.distributed.nn.functional.all_to_all_single(every, mine)",
        ),
        symptom="net.weight.grad is None",
        before=GROUP,
    ),
    "NumPy is given a tensor with its graph": case(
        "AG105",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
array = out.numpy()
""",
        by(
            "Compute it under `with torch.no_grad():` if nothing trains with it",
            "out = net(x)",
            "with torch.no_grad():\n    out = net(x)",
        ),
        by("`out.detach().numpy()`", "out.numpy()", "out.detach().numpy()"),
    ),
    "NumPy is given a result without a name": case(
        "AG105",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
array = net(x).numpy()
""",
        by("Compute it under `with torch.no_grad():`", "array", "with torch.no_grad():\n    array"),
        by("call detach() before numpy()", ".numpy()", ".detach().numpy()"),
    ),
}
