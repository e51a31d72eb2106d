"""AG404: trainable parameters that are in no optimizer."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, quoted, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network(classes=2):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, classes))


def steps(net, optimizer, count=2):
    for _ in range(count):
        trained(optimizer, F.cross_entropy(net(X), Y))


def test_part_of_the_model_left_out():
    """A head that gets gradients and was left out of the optimizer; frozen, it is left out on purpose."""

    def program(freeze):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        if freeze:
            head.requires_grad_(False)
        optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(head(body(X).relu()), Y))

    diagnosed(
        lambda: program(freeze=False), "AG404", "torch.optim.SGD(body.parameters()", "head.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(freeze=True))


def test_copy_of_a_part_given_to_the_optimizer():
    """A head whose copy the optimizer holds: the edit gives it the head itself."""

    def program():
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *copy.deepcopy(head).parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(head(body(X).relu()), Y))

    found = diagnosed(program, "AG404", "copy.deepcopy(head)", "head.weight", severity="warning")
    assert [edit.text for edit in found.edits] == ["head"]


def test_only_the_last_layer_filtered():
    """A name filter that misses biases or norms leaves them out."""

    def program(wanted):
        net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW([p for name, p in net.named_parameters() if wanted(name)])
        steps(net, optimizer)

    diagnosed(
        lambda: program(lambda name: "weight" in name), "AG404", "torch.optim.AdamW(", "0.bias",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(lambda name: True))


def test_gradual_unfreezing():
    """Layers unfrozen later and never added; added with add_param_group they learn."""

    def program(*, add):
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        steps(net, optimizer)
        net[0].requires_grad_(True)
        if add:
            optimizer.add_param_group({"params": net[0].parameters()})
        steps(net, optimizer)

    diagnosed(
        lambda: program(add=False),
        "AG404",
        "net[0].requires_grad_(True)",
        "0.weight",
        severity="warning",
        where=program,
    )
    calm(lambda: program(add=True))


def test_learnable_loss():
    """A loss with parameters of its own (a centre loss, a learned temperature) has to be in the optimizer."""

    class Uncertainty(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_var = nn.Parameter(torch.zeros(()))

        def forward(self, loss):
            return loss * torch.exp(-self.log_var) + self.log_var

    def program(*, both):
        net, weigh = network(), Uncertainty()
        optimizer = torch.optim.SGD([*net.parameters(), *(weigh.parameters() if both else ())], lr=0.1)
        for _ in range(2):
            trained(optimizer, weigh(F.cross_entropy(net(X), Y)))

    diagnosed(lambda: program(both=False), "AG404", "torch.optim.SGD([", "log_var", severity="warning", where=program)
    calm(lambda: program(both=True))


def test_alternating_training():
    """Each of two optimizers holds half; gradients that pass through the other half are ordinary."""

    def gan():
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        left, right = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            trained(right, critic(generator(X).detach()).mean() - critic(X).mean())
            trained(left, -critic(generator(X)).mean())

    def probe_then_finetune():
        net = network()
        head_only = torch.optim.SGD(net[2].parameters(), lr=0.1)
        net[0].requires_grad_(False)
        steps(net, head_only)
        net[0].requires_grad_(True)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    def optimizer_rebuilt():
        net = network(5)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))
        net[2] = nn.Linear(8, 2)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    def hand_made_step():
        net = network()
        for _ in range(2):
            net.zero_grad()
            F.cross_entropy(net(X), Y).backward()
            with torch.no_grad():
                for p in net.parameters():
                    p.sub_(0.1 * p.grad)

    def moved_first():
        net = network().to(torch.float64).to(torch.float32)
        steps(net, torch.optim.Adam(net.parameters()))

    def cross_validation():
        for _ in range(2):
            net = network()
            steps(net, torch.optim.Adam(net.parameters()), 1)

    calm(gan, probe_then_finetune, optimizer_rebuilt, hand_made_step, moved_first, cross_validation)


def test_two_optimizers_of_one_of_two_models():
    """The optimizer to mend is the one that steps after the critic's loss, not the one that steps last."""

    def gan(own):
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        left = torch.optim.Adam(generator.parameters())
        right = torch.optim.Adam((critic if own else generator).parameters(), lr=2e-4)
        for _ in range(2):
            trained(right, critic(generator(X).detach()).mean() - critic(X).mean())
            trained(left, -critic(generator(X)).mean())

    finding = diagnosed(
        lambda: gan(own=False),
        "AG404",
        "if own else generator",
        "critic.weight",
        severity="warning",
        where=gan,
        besides=("AG305",),
    )
    assert quoted(finding.fix)[0].startswith("right = torch.optim.Adam(critic.parameters(), lr=0.0002")
    calm(lambda: gan(own=True))


def test_conversion_that_swaps_parameters():
    """With overwrite_module_params_on_conversion a conversion makes new parameters."""

    def program(swap):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.__future__.set_overwrite_module_params_on_conversion(swap)
        try:
            net.to(torch.float64)
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(False)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X.double()), Y))

    diagnosed(lambda: program(True), "AG405", "net.to(torch.float64)", "0.weight", severity="warning", where=program)
    calm(lambda: program(False))


def test_worker_that_hands_its_gradients_over():
    """A worker's copy computes gradients which the shared model is stepped with, as they are or scaled."""

    def program(hand):
        shared, worker = network(), network()
        optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
        for _ in range(2):
            worker.load_state_dict(shared.state_dict())
            worker.zero_grad()
            F.cross_entropy(worker(X), Y).backward()
            for ours, theirs in zip(shared.parameters(), worker.parameters(), strict=True):
                ours.grad = hand(theirs.grad)
            optimizer.step()

    def reptile():
        meta = network()
        optimizer = torch.optim.SGD(meta.parameters(), lr=0.5)
        for _ in range(2):
            fast = copy.deepcopy(meta)
            steps(fast, torch.optim.SGD(fast.parameters(), lr=0.1))
            optimizer.zero_grad()
            for slow, adapted in zip(meta.parameters(), fast.parameters(), strict=True):
                slow.grad = slow.data - adapted.data
            optimizer.step()

    calm(lambda: program(lambda grad: grad), lambda: program(lambda grad: grad * 0.5), reptile)


def test_generator_that_was_used_up():
    """Counting parameters walks the generator that the optimizer is then given: nothing is left of it."""

    def sick():
        net = network()
        parameters = net.parameters()
        assert sum(p.numel() for p in parameters) > 0
        torch.optim.Adam(parameters)

    def healthy():
        net = network()
        parameters = list(net.parameters())
        assert sum(p.numel() for p in parameters) > 0
        trained(torch.optim.Adam(parameters), F.cross_entropy(net(X), Y))

    diagnosed(sick, "AG404", "torch.optim.Adam(parameters)", "0.weight", "exhausted", severity="error")
    calm(healthy)


def test_filter_that_leaves_nothing():
    """All frozen: a filter by requires_grad gives the optimizer an empty list."""

    def sick():
        net = network()
        net.requires_grad_(False)
        torch.optim.Adam([p for p in net.parameters() if p.requires_grad])

    diagnosed(sick, "AG404", "torch.optim.Adam([p for p", "0.weight", "frozen", severity="error")


def test_bare_parameter_that_nobody_steps():
    """A temperature beside the model is learnt by no optimizer, unless the program moves it or reads its gradient."""

    def program(own, by_hand=False):
        net, temperature = network(), nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([*net.parameters(), *([temperature] if own else [])], lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X) * temperature, Y))
            if by_hand:
                with torch.no_grad():
                    temperature -= 0.1 * temperature.grad
                temperature.grad = None

    diagnosed(
        lambda: program(own=False), "AG404", "torch.optim.SGD([", "temperature", severity="warning", where=program
    )
    calm(lambda: program(own=True), lambda: program(own=False, by_hand=True))


def test_picture_that_is_learnt():
    """Only an input is optimized: the model's own gradients are no oversight."""

    def program():
        net, picture = network(), nn.Parameter(X.clone())
        optimizer = torch.optim.Adam([picture])
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(picture), Y))

    calm(program)


def test_weight_untied_after_the_optimizer_was_made():
    """A weight cloned from the one it was tied to is a new parameter, and in no optimizer."""

    def program(late):
        net = nn.ModuleDict({"words": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)})
        net["head"].weight = net["words"].weight
        if not late:
            net["head"].weight = nn.Parameter(net["words"].weight.clone())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        if late:
            net["head"].weight = nn.Parameter(net["words"].weight.clone())
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net["head"](net["words"](torch.arange(5))), torch.arange(5)))

    report = inspected(lambda: program(late=True))
    assert [(f.rule, "head.weight" in f.message) for f in report.findings] == [("AG404", True)]
    calm(lambda: program(late=False))


def test_group_that_was_given_a_used_up_generator():
    """torch takes an empty group without a word: that the group is empty gives the cause away."""

    def program(*, kept):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        parameters = (p for p in body.parameters() if p.requires_grad)
        if kept:
            parameters = list(parameters)
        count = sum(p.numel() for p in parameters)
        optimizer = torch.optim.SGD([{"params": parameters}, {"params": head.parameters()}], lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(head(body(X).relu()), Y))
        return count

    finding = diagnosed(
        lambda: program(kept=False), "AG404", "torch.optim.SGD([", "group 0 is empty", "body.weight",
        severity="warning", where=program,
    )  # fmt: skip
    assert "generator" in finding.fix
    calm(lambda: program(kept=True))


def test_empty_group_that_explains_nothing():
    """A group that waits for parameters is not the reason why a layer that came later is left out."""

    def program():
        net = network()
        optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": []}], lr=0.1)
        net.append(nn.Linear(2, 2))
        steps(net, optimizer)

    finding = diagnosed(program, "AG404", "net.append(", "3.weight", severity="warning")
    assert "empty" not in finding.message


def test_parameters_taken_out_of_their_group():
    """What the program took out of the groups and uses no more is left alone; what it goes on using is told."""

    def program(*, used):
        first, second = nn.Parameter(torch.ones(4, 2)), nn.Parameter(torch.ones(4, 2))
        optimizer = torch.optim.SGD([first, second], lr=0.1)
        for step in range(3):
            weights = [first] if step == 0 else [second, first] if used or step == 1 else [second]
            loss = sum(F.cross_entropy(X @ w, Y) for w in weights)
            loss.backward()
            if step == 1:
                optimizer.param_groups[0]["params"].remove(first)
                optimizer.state.pop(first, None)
                continue
            optimizer.step()
            optimizer.zero_grad()

    report = inspected(lambda: program(used=False))
    assert not [f for f in report.findings if f.rule == "AG404"]
    report = inspected(lambda: program(used=True))
    assert [f for f in report.findings if f.rule == "AG404"]


def test_master_weights_whose_gradients_are_filled_in_each_step():
    """The gradients of the model's own weights are copied into tensors that were given to the masters once."""

    def program():
        net = network().to(torch.bfloat16)
        masters = [p.detach().float().requires_grad_() for p in net.parameters()]
        for master in masters:
            master.grad = torch.empty_like(master)
        optimizer = torch.optim.SGD(masters, lr=0.1)
        for _ in range(3):
            net.zero_grad()
            F.cross_entropy(net(X.to(torch.bfloat16)).float(), Y).backward()
            for p, master in zip(net.parameters(), masters, strict=True):
                master.grad.data.copy_(p.grad.data)
            optimizer.step()
            for p, master in zip(net.parameters(), masters, strict=True):
                p.data.copy_(master.data)

    calm(program)


def test_the_optimizer_of_the_same_model():
    """Of several optimizers the one is told that has the rest of the model, not the last one that was made."""

    def program():
        encoder, decoder = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 1)
        first = torch.optim.Adam(encoder[0].parameters())  # Left out.
        second = torch.optim.Adam(decoder.parameters())
        for _ in range(2):
            first.zero_grad()
            second.zero_grad()
            decoder(encoder(X)).pow(2).mean().backward()
            first.step()
            second.step()

    diagnosed(program, "AG404", "Left out.", "encoder.1.weight", severity="warning")


def test_left_out_of_a_resumed_training():
    """A checkpoint that was loaded into the parameter since the first training does not move it."""

    def optimizer_of(net):
        return torch.optim.Adam(list(net.parameters())[:-2])  # Left out.

    def train(net, optimizer):
        for _ in range(2):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = optimizer_of(net)
        train(net, optimizer)
        resumed = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        resumed.load_state_dict(net.state_dict())
        again = optimizer_of(resumed)
        again.load_state_dict(optimizer.state_dict())
        train(resumed, again)

    diagnosed(program, "AG404", "Left out.", "resumed.1.weight", severity="warning", where=optimizer_of)


def test_layer_added_and_initialised_in_training():
    """A branch that joins the model after a step, initialised by hand, is no parameter that is moved by hand."""

    def program(*, adds):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        steps(net, optimizer)
        branch = nn.Linear(4, 2)
        nn.init.orthogonal_(branch.weight)
        nn.init.zeros_(branch.bias)
        if adds:
            optimizer.add_param_group({"params": branch.parameters()})
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X) + branch(X), Y))

    diagnosed(
        lambda: program(adds=False), "AG404", "branch = nn.Linear(4, 2)", "branch.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(adds=True))


def test_layer_moved_by_hand_later():
    """What the program itself moves after a backward to it needs no optimizer."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        steps(net, optimizer)
        branch = nn.Linear(4, 2)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X) + branch(X), Y))
            with torch.no_grad():
                for p in branch.parameters():
                    p.sub_(p.grad, alpha=0.1)
                    p.grad = None

    calm(program)


def test_leaves_that_were_stacked_from_the_parameters():
    """An ensemble under `vmap`: the stacked leaves learn, and the optimizer was given what they were stacked from."""

    def program(stacked):
        models = [nn.Linear(4, 1) for _ in range(3)]
        params, buffers = torch.func.stack_module_state(models)
        held = params.values() if stacked else [p for model in models for p in model.parameters()]
        optimizer = torch.optim.SGD(held, lr=0.1)
        base = copy.deepcopy(models[0]).to("meta")

        def one(params, buffers):
            return torch.func.functional_call(base, (params, buffers), (X,))

        for _ in range(3):
            trained(optimizer, torch.func.vmap(one)(params, buffers).pow(2).mean())

    diagnosed(
        lambda: program(stacked=False),
        "AG404",
        "optimizer = torch.optim.SGD(held",
        "params['weight']",
        severity="warning",
        where=program,
    )
    calm(lambda: program(stacked=True))


def test_groups_by_name_of_a_compiled_model():
    """All groups are empty, for each name has the wrapper in front: a warning, which says so."""

    def program(*, wrapper):
        torch._dynamo.reset()  # What another test compiled would be compiled anew, and that is reported.
        net = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), backend="eager")
        named = dict((net if wrapper else net._orig_mod).named_parameters())
        groups = [{"params": [p for name, p in named.items() if name.startswith(start)]} for start in ("0", "2")]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(wrapper=True), "AG404", "torch.optim.SGD(groups", "begins with `_orig_mod.`",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(wrapper=False))


@pytest.mark.parametrize("clears", ["optimizer", "model"])
def test_gradients_that_nothing_clears_in_the_norm(clears):
    """Clipping counts them with those that step() uses: where they are clipped and what clears the others is shown."""

    def program():
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
        for _ in range(3):
            (optimizer if clears == "optimizer" else model).zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    finding = diagnosed(program, "AG404", "torch.optim.SGD(", "0.weight", severity="warning")
    shown = [place.source for place in finding.locations]
    counted = clears == "optimizer"
    assert ("clipping norm" in finding.message) == counted
    assert any("clip_grad_norm_" in line for line in shown) == counted
    assert any(".zero_grad()" in line for line in shown) == counted


def test_replicas_whose_gradients_go_on_in_buckets():
    """The gradients of copies are parts of one flat tensor, which is handed on to what is stepped, or is not."""

    def program(hand_on, count=2):
        master = network()
        sizes = [p.numel() for p in master.parameters()]
        replicas = [copy.deepcopy(master) for _ in range(count)]
        buckets = [torch.zeros(sum(sizes)) for _ in replicas]
        for replica, bucket in zip(replicas, buckets, strict=True):
            for p, part in zip(replica.parameters(), bucket.split(sizes), strict=True):
                p.grad = part.view_as(p)
        optimizer = torch.optim.SGD(master.parameters(), lr=0.1)
        for _ in range(2):
            for replica, bucket in zip(replicas, buckets, strict=True):
                bucket.zero_()
                with torch.no_grad():
                    torch._foreach_copy_(list(replica.parameters()), list(master.parameters()))
                F.cross_entropy(replica(X), Y).backward()
            total = sum(bucket / 2 for bucket in buckets) if hand_on else torch.ones(sum(sizes))
            for p, part in zip(master.parameters(), total.split(sizes), strict=True):
                p.grad = part.view_as(p)
            optimizer.step()

    diagnosed(
        lambda: program(hand_on=False), "AG404", "torch.optim.SGD", "replica.0", severity="warning", where=program
    )
    calm(lambda: program(hand_on=True), lambda: program(hand_on=True, count=1))
