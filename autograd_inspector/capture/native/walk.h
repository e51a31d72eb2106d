/* What the walk of a graph is told once and holds on to: for walk.c, and for saved.c, which reads what its nodes saved. */

#ifndef WALK_H
#define WALK_H

#include "native.h"
#include <limits.h>

/* What is read of the walk, once for many nodes. */
#define HELD(X)                                                                                                       \
    X(recording) X(saved) X(names) X(live) X(leaves) X(borders) X(starts) X(ends) X(indices) X(ops) X(recent)         \
    X(registry) X(plans) X(by_address) X(storages) X(first) X(moves) X(told) X(shapes) X(dtypes)

typedef struct {
#define HOLD(n) PyObject *n;
    HELD(HOLD)
    PyObject *walk, *numbers, *depths, *heap, *met;
    long long floor, newest, max_depth, max_width;
    Py_ssize_t start;
    int keep, alone, late, aliased, in_turn;
    long long low, high; /* The sequence numbers of the nodes that the op made, or of those between two ops. */
    PyObject *op, *position;
    int wide, collecting;
} Walker;

/* Much is made and little let go of: collecting once afterwards is enough. What the walk calls in Python finds the
   collector as the program has it, which may switch it meanwhile, in a signal's handler or another thread. */
static inline void collector_off(Walker *walker)
{
    walker->collecting = PyGC_Disable();
}

static inline void collector_back(Walker *walker)
{
    if (walker->collecting)
        PyGC_Enable();
}

/* A sequence number, or the key of a node: LLONG_MAX for that of a leaf, which is greater than any other. */
static inline long long integer(PyObject *number)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow ? LLONG_MAX : value;
}

/* saved.c: what a node saved, as SavedTensors.of tells it. */
PyObject *saved_by(Walker *walker, PyObject *node, PyObject *plan);

#endif
