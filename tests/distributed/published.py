"""The silent errors that were published with TrainCheck (OSDI '25), rebuilt small from their descriptions.

Of ranks, each is a program here; the others are in tests/rules/test_published_cases.py. TrainCheck finds the first two
by one trace, and simulates that of mmpretrain-702: what it shows is a model that freezes its stages in ``train()``.
"""

PROGRAMS = {
    "pytorch-104336": "dtype_after_wrap",
    "x-jxmnop-ddp-out-of-sync": "wrapped_every_other_step",
    "deepspeed-1801": "clipped_on_rank_zero",
    "mmpretrain-702": "frozen_when_train_is_called",
}
ALONE = {
    "pytorch-forum-84911": "test_a_frozen_head_is_all_that_the_optimizer_holds",
    "stackoverflow-60335387": "test_gradients_are_never_cleared",
    "pytorch-115607": "test_an_optimizer_stops_moving_when_gradients_were_none",
}
"""Of one process: case -> its test."""
