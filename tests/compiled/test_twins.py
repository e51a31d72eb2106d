"""Programs of `tests/practice` and the stories in compiled form: the same rules at the same lines as uncompiled."""

from __future__ import annotations

import functools

import pytest

from tests.compiled.twins import compiled, graphs, observed, said_of
from tests.practice.programs import FOLDER, loaded, truth_of, written_truth
from tests.shares import share

SICK = (
    "adversarial/carlini_wagner",
    "adversarial/iterative_fgsm",
    "adversarial/patch_attack",
    "amp/accumulation_with_scaler",
    "amp/two_tower_retrieval",
    "checkpoints/copy_of_a_running_model",
    "checkpoints/pretrained_encoder",
    "checkpoints/resumed_tabular_net",
    "contrastive/learned_temperature_read_as_a_number",
    "contrastive/moco_queue",
    "detection/last_stage_unfrozen",
    "detection/sum_of_losses",
    "detection/validation_between_epochs",
    "diffusion/latents_of_a_frozen_vae",
    "diffusion/lora_on_attention",
    "diffusion/x0_loss_zero_terminal_snr",
    "distillation/schedule_free",
    "embeddings/sparse_matrix_factorisation",
    "federated/fedprox",
    "flows/learned_base_distribution",
    "flows/masked_coupling",
    "gan/image_log",
    "gan/weights_clipped_in_a_computed_copy",
    "graphs/degree_of_learned_edges",
    "hooks/lottery_ticket",
    "meta/reptile_sine",
    "neural_ode/integrator_detaches_the_slope",
    "nlp_finetune/batch_norm_of_a_frozen_backbone_moves",
    "optim/binary_connect",
    "optim/lbfgs_closure",
    "optim/lion",
    "optim/nonnegative_factorisation",
    "pinn/column_taken_out_of_the_leaf",
    "point_clouds/set_abstraction",
    "rl/one_step_error_of_one_critic",
    "rl/redq",
    "robotics/cloning_on_features",
    "second_order/newton_cg",
    "selfsupervised/swav_prototypes",
    "speech/speaker_verification",
    "vae/bernoulli_vae",
    "vae/tied_decoder",
)
HEALTHY = (
    "adversarial/free_training_replay",
    "amp/scaler_skips_a_step",
    "checkpoints/resume_everything",
    "contrastive/simclr_both_views",
    "detection/ssd_hard_negatives",
    "distillation/self_distillation_exits",
    "gan/infogan_joint_step",
    "hooks/step_inside_backward",
    "lm/switch_experts_without_tokens",
    "optim/lookahead_slow_weights",
    "optim/own_attributes_on_parameters",
    "recurrent/packed_bidirectional_tagger",
)
BY_INDUCTOR = ("flows/masked_coupling", "speech/speaker_verification", "adversarial/free_training_replay")
"""Those that are also compiled by inductor, which takes seconds."""
ALIKE_BY_EAGER = {
    "audio_vision/masked_speech": "the write that raises as written raises nothing: AOTAutograd makes it a copy",
    "checkpoints/bf16_weights_assigned": "torch refuses operands that its trial run without data lets pass",
    "detection/fpn_top_down": "the same write is told, but AOTAutograd raises before the line of backward()",
    "energy/sliced_score_matching": "it raises: AOTAutograd does not differentiate its backward again",
    "meta/learning_to_reweight": "AOTAutograd refuses a second derivative, so in 8 more programs",
    "rl/reinforce_continuous": "gradients that cancel within the region's own backward are not seen",
    "vae/ladder_vae": "hooks that a graph registers are not seen to run",
}
"""Programs of which the same is told where Python runs their graphs, and what AOTAutograd makes of them."""
UNLIKE = {
    "functions/gradient_reversal": "AG108 without the sum; by AOTAutograd the gradients are right, for it copies",
    "functions/learned_step_quantiser": "AG502 at the line that saves, for a compiled Function has no ctx of its own",
    "graphs/gat_with_two_heads": "AG301: a mask breaks the graph, and torch.tensor() runs in Python after the last one",
    "hooks/grad_cam": "raises alike, AG105 instead: the module runs in Python, and what its hook was given is unknown",
    "point_clouds/closest_point_registration": "AG201 at the line of the break, for the write runs in Python",
    "recurrent/weight_drop": "AG107 and AG301: nn.Parameter() of a result runs in Python between two graphs",
    "adversarial/dann_reversal": "ends otherwise: compiled, a Function may return too few gradients",
    "adversarial/virtual_adversarial": "not seen: backward() in a loop, a function that Dynamo leaves to Python",
    "distillation/fitnets": "AG404 without the line that makes the module: it runs in Python between two graphs",
    "functions/branch_taken_by_a_counter": "raises alike, and nothing is told: the recomputation is not seen",
    "lm/checkpointed_dropout": "ends otherwise: the gradients are right",
    "lm/lora_with_reentrant_checkpointing": "ends otherwise: it raises nothing",
    "vae/autoencoder_kl": "ends otherwise: the symptom is not there",
}
"""Programs of which something else is told in compiled form, and why."""
BACKENDS = ("eager", "aot_eager")


def kinds(case):
    """How a program is compiled, and how the exception begins that ends it."""
    name, backend = case
    return [backend, written_truth(FOLDER / f"{name}.py").raises[:30]]


def drawn(names, one_in, backends=BACKENDS):
    """Of these programs the share that `make test` compiles, by these backends."""
    return share([(name, backend) for name in names for backend in backends], one_in, name="-".join, kinds=kinds)


CASES = [*drawn(SICK, 4), *drawn(HEALTHY, 2), *drawn(ALIKE_BY_EAGER, 2, ["eager"])]
CASES += [pytest.param(*case, marks=pytest.mark.slow) for case in drawn(BY_INDUCTOR, 3, ["inductor"])]

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(300),
]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_a_program_whose_forwards_are_compiled(name, backend, capsys):
    """All errors and warnings are those of the program as it is written, at the same lines."""
    source = FOLDER / f"{name}.py"
    _, said, error = _as_written(source)
    made, compiled_said, compiled_error = _run(source, backend)
    assert made > 0
    assert (compiled_said, compiled_error) == (said, error)


def test_programs_that_are_told_otherwise_are_there():
    """The table above names programs, and none of those that are held to be alike."""
    otherwise = {**UNLIKE, **ALIKE_BY_EAGER}
    assert len(otherwise) == len(UNLIKE) + len(ALIKE_BY_EAGER)
    assert all((FOLDER / f"{name}.py").exists() for name in otherwise)
    assert not otherwise.keys() & {*SICK, *HEALTHY}


@functools.cache
def _as_written(source):
    return _run(source, "")


def _run(source, backend):
    """(graphs, errors and warnings, the class of what ended it)."""
    module = loaded(source)
    module.__name__ = source.stem
    if hasattr(module, "setup"):
        module.setup()
    if not backend:
        report, error = observed(module.run, values=truth_of(module).values)
        return 0, said_of(report, str(source)), type(error)
    with compiled(module, backend):
        report, error = observed(module.run, values=truth_of(module).values)
        return graphs(), said_of(report, str(source)), type(error)
