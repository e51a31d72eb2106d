"""Placements of ranks as one: which rows are one parameter's, and what ranks should have in common."""

from autograd_inspector.analysis.across_ranks import placement_of_ranks
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, Sharding, StateEntry
from autograd_inspector.model.ranks import Difference, ranks_text


def row(name, model="net", **facts) -> ParameterRow:
    """As the inspector makes them: findings name a parameter after the variable that holds its model."""
    defaults = {"shape": (2,), "dtype": "float32", "device": "cpu", "nbytes": 8, "optimizer": 0, "group": 0}
    called = f"{model}.{name}" if model else name
    return ParameterRow(**(defaults | facts), name=called, names=(name,), model=model, tensor=0, requires_grad=True)


def placement(*rows, kinds=("Adam",), groups=({"lr": "0.1"},)) -> Placement:
    return Placement(rows, tuple(OptimizerRecord(n, kind, "torch.optim", groups) for n, kind in enumerate(kinds)))


def names(ranked) -> list:
    return [(each.name, [share is not None for share in each.shares]) for each in ranked.rows]


def told(ranked) -> list[tuple[str, dict[str, tuple[int, ...]]]]:
    """What differs, and which ranks have which value of it."""
    return [(found.what, dict(found.values)) for each in ranked.rows for found in each.differences]


def test_rows_are_matched_by_name_and_not_by_order():
    """Each rank may list its parameters in another order, and call the model by another variable."""
    found = placement_of_ranks({0: placement(row("a"), row("b")), 1: placement(row("b", "other"), row("a", "other"))})
    assert names(found) == [("net.a", [True, True]), ("net.b", [True, True])]
    assert told(found) == []


def test_equal_names_of_two_models_stay_apart():
    """Generator and discriminator both have a `0.weight`."""
    both = placement(row("0.weight", "g"), row("0.weight", "d"))
    other = placement(row("0.weight", "d"), row("0.weight", "g"))
    found = placement_of_ranks({0: both, 1: other})
    assert [(each.model, len(each.shares)) for each in found.rows] == [("g", 2), ("d", 2)]


def test_a_parameter_in_two_optimizers_has_two_rows():
    """A row is matched with that of the same optimizer, also where a rank has only the second."""
    both = placement(row("a"), row("a", optimizer=1), kinds=("Adam", "SGD"))
    found = placement_of_ranks({0: both, 1: placement(row("a"), kinds=("SGD",))})
    assert [(each.optimizer, [s is not None for s in each.shares]) for each in found.rows] == [
        ("Adam", [True, False]),
        ("SGD", [True, True]),
    ]


def test_orphans_are_not_what_took_their_place():
    """The old and the new head have one name: the one without a model is another row."""
    found = placement_of_ranks({0: placement(row("a"), row("a", "")), 1: placement(row("a", ""), row("a"))})
    assert [each.model for each in found.rows] == ["net", ""]
    assert all(None not in each.shares for each in found.rows)


def test_pipeline_stages_are_no_difference():
    """Ranks that hold other parameters, but for a tied embedding, lack nothing."""
    first = placement(row("embed"), row("1.weight"), row("1.bias"))
    last = placement(row("embed"), row("2.weight"), row("2.bias"))
    found = placement_of_ranks({0: first, 1: last})
    assert len(found.rows) == 5
    assert told(found) == []


def test_a_replica_that_lacks_a_parameter_is_marked():
    """It has most of what the other has."""
    found = placement_of_ranks({0: placement(row("a"), row("b"), row("c")), 1: placement(row("a"), row("b"))})
    assert told(found) == [("held", {"yes": (0,), "no": (1,)})]


def test_devices_of_one_kind_are_no_difference():
    """Each rank has a GPU of its own; a CPU among them is marked."""
    gpus = {rank: placement(row("a", device=f"cuda:{rank}")) for rank in range(2)}
    assert told(placement_of_ranks(gpus)) == []
    assert told(placement_of_ranks(gpus | {2: placement(row("a"))})) == [("device", {"cuda": (0, 1), "cpu": (2,)})]


def test_state_groups_and_settings_are_compared():
    """State of another dtype or missing, another group, another learning rate."""
    state = (StateEntry((2,), "float32", "cpu", 8, name="exp_avg"),)
    lower = (StateEntry((2,), "bfloat16", "cpu", 4, name="exp_avg"),)
    one, other = placement(row("a", state=state)), placement(row("a", state=lower), groups=({"lr": "0.2"},))
    bare = placement(row("a", group=1), groups=({"lr": "0.1"}, {"lr": "0.1"}))
    assert told(placement_of_ranks({0: one, 1: other, 2: bare})) == [
        ("group", {"0": (0, 1), "1": (2,)}),
        ("state exp_avg", {"float32 cpu": (0,), "bfloat16 cpu": (1,), "none": (2,)}),
        ("lr", {"0.1": (0, 2), "0.2": (1,)}),
    ]


def test_bytes_are_local_and_totals_are_those_of_the_storages():
    """A shard's own bytes in its cell; the total has the padding that its storage has."""
    spread = Sharding(("Shard(dim=0)",), (2,), (1,), 4)
    shard = row("a", sharding=spread, storage=0, allocated=8)
    found = placement_of_ranks({0: placement(shard), 1: None})
    assert (found.rows[0].shares[0].parameter, found.totals[0].parameters) == (4, 8)
    assert (found.world_size, found.missing, found.whole.all) == (2, (1,), 8)


def test_records_have_the_same_keys():
    """One dictionary a row with a column for each fact of each rank; None where a rank holds nothing."""
    found = placement_of_ranks({0: placement(row("a")), 1: Placement()}).records()
    assert found[0]["rank 0 parameter"] == 8
    assert found[0]["rank 1 parameter"] is None


def test_ranks_in_words():
    """Runs are folded; the noun agrees with how many they are."""
    assert [ranks_text(r) for r in ((3,), (0, 1, 2, 5), (4, 6))] == ["rank 3", "ranks 0–2, 5", "ranks 4, 6"]
    assert str(Difference("lr", (("0.1", (0, 2)), ("0.2", (1,))))) == "lr: 0.1 on ranks 0, 2, 0.2 on rank 1"
