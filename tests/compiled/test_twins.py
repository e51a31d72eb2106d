"""Programs of `tests/practice` and the stories in compiled form: the same rules at the same lines as uncompiled."""

from __future__ import annotations

import functools

import pytest

from tests.compiled.twins import compiled, graphs, observed, said_of
from tests.practice.programs import FOLDER, loaded, truth_of

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
    "rl/one_step_error_of_one_critic",
    "second_order/newton_cg",
    "selfsupervised/swav_prototypes",
    "speech/speaker_verification",
    "vae/tied_decoder",
)
HEALTHY = (
    "adversarial/free_training_replay",
    "amp/scaler_skips_a_step",
    "checkpoints/resume_everything",
    "contrastive/simclr_both_views",
    "detection/ssd_hard_negatives",
    "distillation/self_distillation_exits",
    "hooks/step_inside_backward",
    "lm/switch_experts_without_tokens",
    "optim/lookahead_slow_weights",
    "optim/own_attributes_on_parameters",
    "recurrent/packed_bidirectional_tagger",
)
BY_INDUCTOR = ("flows/masked_coupling", "speech/speaker_verification", "adversarial/free_training_replay")
"""Those that are also compiled by inductor, which takes seconds."""
UNLIKE = {
    "adversarial/dann_reversal": "torch accepts the wrong number of gradients where it compiles the Function",
    "adversarial/virtual_adversarial": "backward() in a loop: Dynamo leaves that function to Python, a note says so",
    "audio_vision/masked_speech": "compiled code saves what it computed before the write, and is right",
    "checkpoints/bf16_weights_assigned": "torch refuses the operands while it compiles, before any op runs",
    "detection/fpn_top_down": "torch refuses the write while it compiles, before any op runs",
    "distillation/fitnets": "the module is made in Python between two graphs",
    "functions/branch_taken_by_a_counter": "what a checkpoint within compiled code recomputes is fixed when it compiles",
    "functions/gradient_reversal": "the backward of a compiled Function writes a copy",
    "functions/learned_step_quantiser": "a compiled Function keeps nothing on its ctx",
    "graphs/gat_with_two_heads": "torch.tensor() of a tensor is written as a constant by Dynamo",
    "hooks/grad_cam": "retain_grad() is asked of what compiled code returned to its own hook",
    "lm/checkpointed_dropout": "the partitioner keeps the dropout's mask, so it is not drawn again",
    "lm/lora_with_reentrant_checkpointing": "a compiled checkpoint trains all parameters, and is right",
    "meta/learning_to_reweight": "compiled code refuses a second derivative, as all programs with create_graph=True",
    "point_clouds/closest_point_registration": "the svd is written in Python between two graphs",
    "point_clouds/set_abstraction": "both ends of a grad mode are written alike in the graph: no_grad() is told",
    "recurrent/weight_drop": "the parameter is made in Python between two graphs",
    "rl/redq": "one module called four times with the same inputs is one call to the graph",
    "rl/reinforce_continuous": "gradients that cancel are added up inside the compiled backward",
    "robotics/cloning_on_features": "compiled code clones inference tensors, and does not fail",
    "vae/autoencoder_kl": "a compiled checkpoint trains all parameters, and is right",
    "vae/bernoulli_vae": "the library's frames within a graph are known by line, not by the method called",
    "vae/ladder_vae": "hooks that a graph registers are part of its backward",
}
"""Programs of which something else is told in compiled form, and why."""
CASES = [(name, backend) for name in (*SICK, *HEALTHY) for backend in ("eager", "aot_eager")]
CASES += [pytest.param(name, "inductor", marks=pytest.mark.slow) for name in BY_INDUCTOR]

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
    assert all((FOLDER / f"{name}.py").exists() for name in UNLIKE)
    assert not UNLIKE.keys() & {*SICK, *HEALTHY}


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
