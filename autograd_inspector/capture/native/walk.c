/* The usual nodes of a walk: what walk.py does in Python, with the same records.

   A node that is unusual is left to the loop in Python, before it is taken off the heap. */

#include "walk.h"

#define OP_INPUTS 1
#define AT_ONCE 4096 /* So many nodes, and Python has its turn: it looks whether there is an interrupt. */

/* --- the heap: (key, place, node), the least first ---------------------------------------------------- */

static int comes_before(PyObject *one, PyObject *other)
{
    long long key = integer(PyTuple_GET_ITEM(one, 0)), other_key = integer(PyTuple_GET_ITEM(other, 0));
    if (key != other_key)
        return key < other_key;
    return integer(PyTuple_GET_ITEM(one, 1)) < integer(PyTuple_GET_ITEM(other, 1));
}

static void swap(PyObject *heap, Py_ssize_t one, Py_ssize_t other)
{
    PyObject *item = PyList_GET_ITEM(heap, one);
    PyList_SET_ITEM(heap, one, PyList_GET_ITEM(heap, other));
    PyList_SET_ITEM(heap, other, item);
}

static int heap_push(PyObject *heap, PyObject *item)
{
    if (PyList_Append(heap, item) < 0)
        return -1;
    for (Py_ssize_t at = PyList_GET_SIZE(heap) - 1; at > 0;) {
        Py_ssize_t above = (at - 1) / 2;
        if (!comes_before(item, PyList_GET_ITEM(heap, above)))
            break;
        swap(heap, at, above);
        at = above;
    }
    return 0;
}

static PyObject *heap_pop(PyObject *heap)
{
    Py_ssize_t last = PyList_GET_SIZE(heap) - 1;
    PyObject *least = Py_NewRef(PyList_GET_ITEM(heap, 0));
    swap(heap, 0, last);
    if (PyList_SetSlice(heap, last, last + 1, NULL) < 0) {
        Py_DECREF(least);
        return NULL;
    }
    for (Py_ssize_t at = 0;;) {
        Py_ssize_t below = 2 * at + 1;
        if (below >= last)
            break;
        if (below + 1 < last && comes_before(PyList_GET_ITEM(heap, below + 1), PyList_GET_ITEM(heap, below)))
            below++;
        if (!comes_before(PyList_GET_ITEM(heap, below), PyList_GET_ITEM(heap, at)))
            break;
        swap(heap, at, below);
        at = below;
    }
    return least;
}

/* --- walk.py ------------------------------------------------------------------------------------------ */

/* Walk._op_at, and whether the op's nodes are too wide to be opened. -1: raised. */
static int find_op(Walker *walker, long long sequence)
{
    PyObject *starts = walker->starts, *op = minus_one, *position;
    Py_ssize_t low = 0, high = PyList_GET_SIZE(starts), count = high;
    while (low < high) { /* bisect_right */
        Py_ssize_t middle = (low + high) / 2;
        if (sequence < integer(PyList_GET_ITEM(starts, middle)))
            high = middle;
        else
            low = middle + 1;
    }
    Py_ssize_t at = low - 1;
    walker->wide = 0;
    if (at < 0) {
        walker->low = 0;
        walker->high = count ? integer(PyList_GET_ITEM(starts, 0)) : LLONG_MAX;
        position = Py_NewRef(count ? zero : minus_one);
    } else if (sequence < integer(PyList_GET_ITEM(walker->ends, at))) {
        walker->low = integer(PyList_GET_ITEM(starts, at));
        walker->high = integer(PyList_GET_ITEM(walker->ends, at));
        op = PyList_GET_ITEM(walker->indices, at);
        position = Py_NewRef(op);
        Py_ssize_t place = (Py_ssize_t)integer(op) - walker->start;
        PyObject *record;
        if (place >= 0 && place < PyList_GET_SIZE(walker->recent))
            record = Py_NewRef(PyList_GET_ITEM(walker->recent, place));
        else {
            collector_back(walker);
            record = PyObject_GetItem(walker->ops, position);
            collector_off(walker);
        }
        if (record == NULL || !PyTuple_Check(record) || PyTuple_GET_SIZE(record) <= OP_INPUTS) {
            Py_XDECREF(record);
            Py_DECREF(position);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "the record of an op is a tuple");
            return -1;
        }
        Py_ssize_t inputs = PyObject_Size(PyTuple_GET_ITEM(record, OP_INPUTS));
        Py_DECREF(record);
        if (inputs < 0) {
            Py_DECREF(position);
            return -1;
        }
        op = position; /* The list may be another one by now. */
        walker->wide = inputs > walker->max_width;
    } else {
        walker->low = integer(PyList_GET_ITEM(walker->ends, at));
        walker->high = at + 1 < count ? integer(PyList_GET_ITEM(starts, at + 1)) : LLONG_MAX;
        position = PyLong_FromLongLong(integer(PyList_GET_ITEM(walker->indices, at)) + 1);
    }
    if (position == NULL)
        return -1;
    Py_XSETREF(walker->op, Py_NewRef(op));
    Py_XSETREF(walker->position, position);
    return 0;
}

/* A node that was met for the first time: its place. */
static PyObject *place_anew(Walker *walker, PyObject *child, PyObject *depth)
{
    PyObject *place = PyLong_FromSsize_t(PyList_GET_SIZE(walker->depths));
    PyObject *below = place == NULL ? NULL : PyObject_CallMethodNoArgs(child, s__sequence_nr), *key = NULL, *item = NULL;
    if (below != NULL) {
        long long sequence = integer(below);
        key = sequence == LLONG_MAX ? Py_NewRef(k_leaf_sequence) : PyLong_FromLongLong(-sequence);
        item = key == NULL ? NULL : PyTuple_Pack(3, key, place, child);
    }
    if (item == NULL || PyDict_SetItem(walker->numbers, child, place) < 0 || PyList_Append(walker->depths, depth) < 0 ||
        heap_push(walker->heap, item) < 0)
        Py_CLEAR(place);
    Py_XDECREF(below);
    Py_XDECREF(key);
    Py_XDECREF(item);
    return place;
}

/* A node that was met before, by a path that may be longer. */
static int met_again(Walker *walker, PyObject *place, PyObject *depth)
{
    Py_ssize_t at = (Py_ssize_t)integer(place);
    if (integer(PyList_GET_ITEM(walker->depths, at)) < integer(depth) &&
        PyList_SetItem(walker->depths, at, Py_NewRef(depth)) < 0)
        return -1;
    int opened = PyDict_Contains(walker->met, place);
    if (opened > 0)
        walker->in_turn = 0; /* Each thread has its own sequence numbers. */
    return opened < 0 ? -1 : 0;
}

/* The edges of a node as places: what it leads to is put on the heap. */
static PyObject *edges_of(Walker *walker, PyObject *node, PyObject *depth)
{
    PyObject *following = PyObject_GetAttr(node, s_next_functions), *edges = NULL;
    if (following == NULL)
        return NULL;
    if (!PyTuple_CheckExact(following)) {
        PyErr_SetString(PyExc_TypeError, "next_functions is a tuple");
        goto failed;
    }
    Py_ssize_t all = PyTuple_GET_SIZE(following), count = 0;
    for (Py_ssize_t at = 0; at < all; at++)
        count += PyTuple_GET_ITEM(PyTuple_GET_ITEM(following, at), 0) != Py_None;
    if ((edges = PyTuple_New(count)) == NULL)
        goto failed;
    for (Py_ssize_t at = 0, into = 0; at < all; at++) {
        PyObject *child = PyTuple_GET_ITEM(PyTuple_GET_ITEM(following, at), 0);
        PyObject *slot = PyTuple_GET_ITEM(PyTuple_GET_ITEM(following, at), 1);
        if (child == Py_None)
            continue;
        if (PyType_IsSubtype(Py_TYPE(child), (PyTypeObject *)k_function_type)) {
            collector_back(walker);
            PyObject *told = PyObject_CallMethodObjArgs(walker->borders, s_led, child, slot, NULL);
            collector_off(walker);
            Py_XDECREF(told);
            if (told == NULL)
                goto failed;
        }
        PyObject *place = Py_XNewRef(PyDict_GetItemWithError(walker->numbers, child));
        if (place == NULL)
            place = PyErr_Occurred() ? NULL : place_anew(walker, child, depth);
        else if (met_again(walker, place, depth) < 0)
            Py_CLEAR(place);
        PyObject *edge = place == NULL ? NULL : PyTuple_Pack(2, place, slot);
        Py_XDECREF(place);
        if (edge == NULL)
            goto failed;
        PyTuple_SET_ITEM(edges, into++, edge);
    }
    Py_DECREF(following);
    return edges;
failed:
    Py_DECREF(following);
    Py_XDECREF(edges);
    return NULL;
}

/* The number of the tensor of an AccumulateGrad node, which is noted as a leaf; -1 where it has none. */
static PyObject *variable_of(Walker *walker, PyObject *node)
{
    PyObject *leaf = PyObject_GetAttr(node, s_variable), *number = NULL;
    if (leaf == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
        return Py_NewRef(minus_one);
    }
    if (!PyType_IsSubtype(Py_TYPE(leaf), (PyTypeObject *)k_tensor_type))
        number = Py_NewRef(minus_one);
    else {
        PyObject *entry = entry_of(walker->by_address, leaf);
        if (entry != NULL)
            number = Py_XNewRef(SLOT(entry, slot_tensor));
        Py_XDECREF(entry);
        if (number == NULL && !PyErr_Occurred()) {
            collector_back(walker);
            number = PyObject_CallMethodOneArg(walker->recording, s_id_of, leaf);
            collector_off(walker);
        }
        if (number != NULL && PyDict_SetItem(walker->leaves, number, leaf) < 0)
            Py_CLEAR(number);
    }
    Py_DECREF(leaf);
    return number;
}

static PyObject *name_of(Walker *walker, PyObject *node)
{
    PyObject *name = PyObject_CallMethodNoArgs(node, s_name);
    PyObject *kept = name == NULL ? NULL : Py_XNewRef(PyDict_SetDefault(walker->names, name, name));
    Py_XDECREF(name);
    return kept;
}

/* Open the next node: what the loop of Walk._walk does for it. 1: done, 0: it is unusual, and still there, -1: raised. */
static int open_next(Walker *walker)
{
    PyObject *item = PyList_GET_ITEM(walker->heap, 0);
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != 3)
        return 0;
    PyObject *key = PyTuple_GET_ITEM(item, 0), *number = PyTuple_GET_ITEM(item, 1), *node = PyTuple_GET_ITEM(item, 2);
    PyObject *sequence = NULL, *depth = NULL, *edges = NULL, *name = NULL, *variable = NULL, *saved = NULL, *record = NULL;
    int status = -1, leaf = integer(key) == LLONG_MAX;
    long long own = leaf ? LLONG_MAX : -integer(key), deep = integer(PyList_GET_ITEM(walker->depths, integer(number)));
    PyObject *plan = PyDict_GetItemWithError(walker->plans, (PyObject *)Py_TYPE(node));
    if (plan == NULL && PyErr_Occurred())
        return -1;
    if (PyType_IsSubtype(Py_TYPE(node), (PyTypeObject *)k_function_type) || (plan != NULL && !PyTuple_CheckExact(plan)))
        return 0;
    if (leaf) {
        if (plan == NULL || PyTuple_GET_SIZE(plan)) /* Not known to be a leaf that saves nothing. */
            return 0;
    } else {
        if (own <= walker->newest || deep >= walker->max_depth || own < walker->floor)
            return 0;
        if ((own < walker->low || own >= walker->high) && find_op(walker, own) < 0)
            return -1;
        if (walker->wide)
            return 0;
    }
    if ((item = heap_pop(walker->heap)) == NULL)
        return -1;
    sequence = leaf ? Py_NewRef(k_leaf_sequence) : PyLong_FromLongLong(own);
    depth = PyLong_FromLongLong(deep + 1);
    if (sequence == NULL || depth == NULL || (edges = edges_of(walker, node, depth)) == NULL ||
        (name = name_of(walker, node)) == NULL)
        goto done;
    variable = leaf ? variable_of(walker, node) : Py_NewRef(minus_one);
    saved = variable == NULL ? NULL : leaf ? Py_NewRef(no_items) : saved_by(walker, node, plan);
    if (saved == NULL)
        goto done;
    PyObject *fields[] = {number, name, sequence, edges, leaf ? minus_one : walker->op, variable,
                          leaf ? minus_one : walker->position, saved};
    record = PyObject_Vectorcall(k_node_type, fields, sizeof fields / sizeof *fields, NULL);
    if (record == NULL || PyDict_SetItem(walker->met, number, record) < 0)
        goto done;
    status = 1;
    if (walker->keep && !leaf) {
        PyObject *pair = PyTuple_Pack(2, number, node);
        status = pair == NULL || PyList_Append(walker->live, pair) < 0 ? -1 : 1;
        Py_XDECREF(pair);
    }
done:
    Py_DECREF(item);
    Py_XDECREF(sequence); Py_XDECREF(depth); Py_XDECREF(edges); Py_XDECREF(name); Py_XDECREF(variable);
    Py_XDECREF(saved); Py_XDECREF(record);
    return status;
}

static int take_attribute(PyObject *owner, PyObject *name, PyObject **into)
{
    *into = owner == NULL ? NULL : PyObject_GetAttr(owner, name);
    return *into == NULL ? -1 : 0;
}

static int take_truth(PyObject *owner, PyObject *name, int *into)
{
    PyObject *value = PyObject_GetAttr(owner, name);
    *into = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return *into < 0 ? -1 : 0;
}

/* What the walk has. 1: done, 0: it is no usual walk, -1: raised. */
static int look_at(Walker *walker, PyObject *walk)
{
    PyObject *bounds = NULL;
    int inner;
    walker->walk = walk;
    if (take_attribute(walk, s_recording, &walker->recording) < 0 || take_attribute(walk, s__saved, &walker->saved) < 0 ||
        take_attribute(walk, s__names, &walker->names) < 0 || take_attribute(walk, s_live, &walker->live) < 0 ||
        take_attribute(walk, s_leaves, &walker->leaves) < 0 || take_attribute(walk, s__borders, &walker->borders) < 0 ||
        take_truth(walk, s_keep, &walker->keep) < 0 || take_truth(walker->borders, s_inner, &inner) < 0)
        return -1;
    PyObject *saved = walker->saved;
    if (take_attribute(walker->recording, s_ops, &walker->ops) < 0 ||
        take_attribute(walker->ops, s_recent, &walker->recent) < 0 ||
        take_attribute(walker->recording, s_registry, &walker->registry) < 0 ||
        take_attribute(saved, s__plans, &walker->plans) < 0 ||
        take_attribute(saved, s__by_address, &walker->by_address) < 0 ||
        take_attribute(saved, s__storages, &walker->storages) < 0 || take_attribute(saved, s__first, &walker->first) < 0 ||
        take_attribute(saved, s__moves, &walker->moves) < 0 || take_attribute(saved, s__told, &walker->told) < 0 ||
        take_attribute(saved, s__shapes, &walker->shapes) < 0 || take_attribute(saved, s__dtypes, &walker->dtypes) < 0 ||
        take_truth(saved, s__alone, &walker->alone) < 0 || take_truth(saved, s__late, &walker->late) < 0 ||
        take_truth(saved, s__aliased, &walker->aliased) < 0 || take_attribute(walk, s__bounds, &bounds) < 0)
        return -1;
    walker->start = number_at(walker->ops, s_start);
    int usual = !inner && PyTuple_CheckExact(bounds) && PyTuple_GET_SIZE(bounds) == 3;
    if (usual) {
        walker->starts = Py_NewRef(PyTuple_GET_ITEM(bounds, 0));
        walker->ends = Py_NewRef(PyTuple_GET_ITEM(bounds, 1));
        walker->indices = Py_NewRef(PyTuple_GET_ITEM(bounds, 2));
    }
    Py_DECREF(bounds);
    if (PyErr_Occurred())
        return -1;
#define IS_DICT(n) &&PyDict_CheckExact(walker->n)
#define IS_LIST(n) &&PyList_CheckExact(walker->n)
    return usual IS_LIST(starts) IS_LIST(ends) IS_LIST(indices) IS_LIST(recent) IS_LIST(live) IS_DICT(names) IS_DICT(leaves)
        IS_DICT(plans) IS_DICT(by_address) IS_DICT(storages) IS_DICT(first) IS_DICT(moves) IS_DICT(told) IS_DICT(shapes)
            IS_DICT(dtypes);
}

/* Walk.usual(numbers, depths, heap, met, floor, newest, most deep, most wide): opens nodes up to one that is unusual.
   Whether they came in turn. */
static PyObject *walk_usual(PyObject *walk, PyObject *const *args, Py_ssize_t count)
{
    Walker walker;
    memset(&walker, 0, sizeof walker);
    if (count != 8 || !PyDict_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2]) ||
        !PyDict_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "usual(numbers, depths, heap, met, floor, newest, max_depth, max_width)");
        return NULL;
    }
    walker.numbers = args[0];
    walker.depths = args[1];
    walker.heap = args[2];
    walker.met = args[3];
    walker.floor = integer(args[4]);
    walker.newest = integer(args[5]);
    walker.max_depth = integer(args[6]);
    walker.max_width = integer(args[7]);
    walker.in_turn = 1;
    walker.low = walker.high = -1; /* No op yet. */
    int status = look_at(&walker, walk);
    collector_off(&walker);
    for (int opened = 0; status > 0 && opened < AT_ONCE && PyList_GET_SIZE(walker.heap); opened++)
        status = open_next(&walker);
#define LET_GO(n) Py_XDECREF(walker.n);
    collector_back(&walker);
    HELD(LET_GO)
    LET_GO(op)
    LET_GO(position)
    return status < 0 ? NULL : PyBool_FromLong(walker.in_turn);
}

PyMethodDef usual_method = {"usual", (PyCFunction)(void (*)(void))walk_usual, METH_FASTCALL,
                            "Open the next nodes of a walk, up to one that is unusual."};
