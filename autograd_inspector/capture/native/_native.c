/* The hot path of a capture in C: what stacks.py, registry.py and ops.py do in Python, with the same records.

   Plain CPython API, no header of torch's: a tensor's attributes are read through the getters of torch's own descriptors.
   Each function does the usual case alone. Whatever else comes, it leaves to the Python function that it stands for,
   before it has changed anything. No Python code runs here but what is called, so an interrupt cannot strike between. */

#include "native.h"
#include <structmember.h>

#define SKIP 0
#define USER 2
#define GRAPH_CODE 3
#define MAX_KEY 64
#define MAX_WALK 96
#define MAX_USER 6
#define MAX_LIBRARY 3
#define OP_FIELDS 12

#define DEFINE_NAME(n) PyObject *s_##n;
NAMES(DEFINE_NAME)
#define DEFINE_GIVEN(n) PyObject *k_##n;
CALLABLES(DEFINE_GIVEN)
OBJECTS(DEFINE_GIVEN)
TYPES(DEFINE_GIVEN)
#define DEFINE_GETTER(n) static PyObject *k_##n; PyGetSetDef *g_##n;
GETTERS(DEFINE_GETTER)
#define DEFINE_SLOT(n) static PyObject *k_##n; Py_ssize_t o_##n;
SLOTS(DEFINE_SLOT)
PyObject *minus_one, *zero, *no_text, *no_items;
static PyObject *zeros[MAX_INPUTS + 1];
static int configured = 0;

/* --- stacks.py ---------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *key[MAX_KEY];
    int length;
    PyObject *outside[MAX_WALK];
    long so_far[MAX_WALK];
    int starts[MAX_WALK];
    int read;
} Walked;

static int push(Walked *walked, PyObject *number)
{
    if (number == NULL)
        return -1;
    walked->key[walked->length++] = number;
    return 0;
}

static int push_frame(Walked *walked, PyCodeObject *code, PyFrameObject *frame)
{
    if (push(walked, PyLong_FromVoidPtr(code)) < 0)
        return -1;
    return push(walked, PyLong_FromLong(PyFrame_GetLasti(frame)));
}

/* What is known of the frames outside a module's call. 1: the rest of the key is pushed, 0: go on, -1: raised, 2: unusual. */
static int push_known(Walked *walked, PyObject *calls, PyFrameObject *frame, int users)
{
    PyObject *address = PyLong_FromVoidPtr(frame);
    if (address == NULL)
        return -1;
    PyObject *outside = PyDict_GetItemWithError(calls, address);
    Py_DECREF(address);
    if (outside == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (!PyDict_CheckExact(outside))
        return 2;
    long so_far = users ? users : -1 - walked->length;
    PyObject *number = PyLong_FromLong(so_far);
    if (number == NULL)
        return -1;
    PyObject *outer = PyDict_GetItemWithError(outside, number);
    Py_DECREF(number);
    if (outer == NULL) {
        if (PyErr_Occurred())
            return -1;
        walked->outside[walked->read] = Py_NewRef(outside);
        walked->so_far[walked->read] = so_far;
        walked->starts[walked->read++] = walked->length;
        return 0;
    }
    if (!PyTuple_CheckExact(outer) || walked->length + PyTuple_GET_SIZE(outer) > MAX_KEY)
        return 2;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(outer); at++)
        walked->key[walked->length++] = Py_NewRef(PyTuple_GET_ITEM(outer, at));
    return 1;
}

/* The frames from there outwards, as a key. 0: done, -1: raised, 2: unusual. */
static int walk_frames(Walked *walked, PyObject *stacks, PyFrameObject *start)
{
    int status = -1, users = 0;
    PyFrameObject *frame = (PyFrameObject *)Py_NewRef(start);
    PyObject *calls = NULL, *caller = NULL, *graph = NULL;
    PyObject *stop = PyObject_GetAttr(stacks, s_stop), *kinds = stop == NULL ? NULL : PyObject_GetAttr(stacks, s__kinds);
    if (kinds == NULL || (caller = PyObject_GetAttr(stacks, s__caller)) == NULL)
        goto done;
    for (int seen = 0; seen < MAX_WALK && frame != NULL; seen++) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        Py_DECREF(code); /* The frame holds it. */
        PyObject *value = PyDict_GetItemWithError(kinds, code->co_filename);
        long kind;
        if (value == NULL) {
            if (PyErr_Occurred() || (value = PyObject_CallOneArg(k_kind_of_file, code->co_filename)) == NULL)
                goto done;
            kind = PyLong_AsLong(value);
            int kept = PyDict_SetItem(kinds, code->co_filename, value);
            Py_DECREF(value);
            if (kept < 0)
                goto done;
        } else
            kind = PyLong_AsLong(value);
        if (kind == SKIP) {
            if ((PyObject *)code == caller) {
                if (calls == NULL && (calls = PyObject_GetAttr(stacks, s__calls)) == NULL)
                    goto done;
                int known = push_known(walked, calls, frame, users);
                if (known) {
                    status = known == 1 ? 0 : known;
                    goto done;
                }
            }
        } else if (kind == USER) {
            users++;
            if (push_frame(walked, code, frame) < 0)
                goto done;
            if (users == MAX_USER)
                break;
        } else if (kind == GRAPH_CODE) {
            if (graph == NULL && (graph = PyObject_GetAttr(stacks, s_graph_code)) == NULL)
                goto done;
            if (graph != Py_None) {
                status = 2;
                goto done;
            }
        } else if (users == 0 && walked->length < 2 * MAX_LIBRARY && push_frame(walked, code, frame) < 0)
            goto done;
        if ((PyObject *)frame == stop)
            break;
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    status = 0;
done:
    Py_XDECREF(frame);
    Py_XDECREF(stop);
    Py_XDECREF(kinds);
    Py_XDECREF(caller);
    Py_XDECREF(calls);
    Py_XDECREF(graph);
    return status;
}

/* Note what lies outside the module's calls that were met, and find the number of the stack: NULL where it is new. */
static PyObject *site_of(Walked *walked, PyObject *stacks, PyObject *key, int *failed)
{
    *failed = -1;
    for (int at = 0; at < walked->read; at++) {
        PyObject *rest = PyTuple_GetSlice(key, walked->starts[at], walked->length);
        PyObject *so_far = PyLong_FromLong(walked->so_far[at]);
        int kept = rest == NULL || so_far == NULL ? -1 : PyDict_SetItem(walked->outside[at], so_far, rest);
        Py_XDECREF(rest);
        Py_XDECREF(so_far);
        if (kept < 0)
            return NULL;
    }
    PyObject *keys = PyObject_GetAttr(stacks, s_keys);
    if (keys == NULL)
        return NULL;
    PyObject *site = Py_XNewRef(PyDict_GetItemWithError(keys, key));
    Py_DECREF(keys);
    *failed = site == NULL && PyErr_Occurred() ? -1 : 0;
    return site;
}

/* Stacks.at */
static PyObject *stacks_at(PyObject *stacks, PyObject *start)
{
    if (start == Py_None || !PyFrame_Check(start))
        return PyObject_CallFunctionObjArgs(k_walked, stacks, start, NULL);
    Walked walked;
    walked.length = walked.read = 0;
    PyObject *site = NULL, *key = NULL;
    int status = walk_frames(&walked, stacks, (PyFrameObject *)start);
    if (status == 0 && (key = PyTuple_New(walked.length)) == NULL)
        status = -1;
    if (status == 0) {
        for (int at = 0; at < walked.length; at++)
            PyTuple_SET_ITEM(key, at, Py_NewRef(walked.key[at]));
        site = site_of(&walked, stacks, key, &status);
    }
    for (int at = 0; at < walked.length; at++)
        Py_DECREF(walked.key[at]);
    for (int at = 0; at < walked.read; at++)
        Py_DECREF(walked.outside[at]);
    if (status == 2)
        site = PyObject_CallFunctionObjArgs(k_walked, stacks, start, NULL);
    else if (status == 0 && site == NULL)
        site = PyObject_CallMethodObjArgs(stacks, s__intern, key, start, NULL);
    Py_XDECREF(key);
    return site;
}

/* --- registry.py -------------------------------------------------------------------------------------- */

/* How many a Window was ever given, and the list of the recent ones. */
static long next_of(PyObject *window, PyObject **recent)
{
    long start = number_at(window, s_start);
    if (start == -1 && PyErr_Occurred())
        return -1;
    *recent = PyObject_GetAttr(window, s_recent);
    if (*recent == NULL)
        return -1;
    if (!PyList_CheckExact(*recent)) {
        Py_CLEAR(*recent);
        PyErr_SetString(PyExc_TypeError, "a window keeps a list");
        return -1;
    }
    return start + (long)PyList_GET_SIZE(*recent);
}

/* The number of memory that was not met before. */
static PyObject *numbered_now(PyObject *registry, PyObject *storages, PyObject *number, PyObject *address, PyObject *memory)
{
    PyObject *met = PyObject_GetAttr(registry, s_met);
    if (met == NULL)
        return NULL;
    Py_DECREF(met);
    long sweep = number_at(registry, s__sweep_at);
    if (sweep == -1 && PyErr_Occurred())
        return NULL;
    if (met != Py_None || PyDict_GET_SIZE(storages) + 1 >= sweep)
        return PyObject_CallMethodObjArgs(registry, s__numbered_now, address, memory, NULL);
    PyObject *following = PyLong_FromLong(PyLong_AsLong(number) + 1);
    PyObject *kept = following == NULL ? NULL : PyObject_CallOneArg(k_weak_ref, memory);
    int done = kept == NULL || PyDict_SetItem(storages, address, number) < 0 ||
                       PyObject_SetAttr(registry, s__numbered, following) < 0
                   ? -1
                   : 0;
    Py_XDECREF(kept);
    Py_XDECREF(following);
    return done < 0 ? NULL : Py_NewRef(number);
}

/* Registry.storage_at */
PyObject *storage_at(PyObject *registry, PyObject *storages, PyObject *address, PyObject *tensor)
{
    PyObject *number = PyDict_GetItemWithError(storages, address);
    if (number != NULL || PyErr_Occurred())
        return Py_XNewRef(number);
    PyObject *memory = PyObject_CallOneArg(k_untyped_storage, tensor);
    PyObject *next = memory == NULL ? NULL : PyObject_GetAttr(registry, s__numbered);
    number = next == NULL ? NULL : numbered_now(registry, storages, next, address, memory);
    Py_XDECREF(memory);
    Py_XDECREF(next);
    return number;
}

static int in_set_of(PyObject *registry, PyObject *name, PyObject *number)
{
    PyObject *numbers = PyObject_GetAttr(registry, name);
    int done = numbers == NULL ? -1 : PySet_Add(numbers, number);
    Py_XDECREF(numbers);
    return done;
}

/* Registry.add */
static PyObject *registry_add(PyObject *registry, PyObject *tensor, PyObject *birth, PyObject *now)
{
    PyObject *storages = NULL, *address = NULL, *storage = NULL, *memory = NULL, *next = NULL, *shape = NULL;
    PyObject *requires_grad = NULL, *dtype = NULL, *device = NULL, *inference = NULL, *leaf = NULL, *offset = NULL;
    PyObject *stride = NULL, *same = NULL, *entries = NULL, *facts = NULL, *recent = NULL, *recent_facts = NULL;
    PyObject *entry = NULL, *number = NULL, *fact = NULL, *by_address = NULL, *own = NULL, *kept, *flag;
    int changed = 0, done = 0;
    long born = PyLong_AsLong(birth);
    if (!is_plain(tensor) || (born == -1 && PyErr_Occurred()))
        goto done;
    flag = GET(get_symbolic, tensor);
    Py_XDECREF(flag);
    if (flag != Py_False || (address = PyObject_CallOneArg(k_storage_address, tensor)) == NULL)
        goto done;
    if ((storages = PyObject_GetAttr(registry, s_storages)) == NULL || !PyDict_CheckExact(storages))
        goto done;
    storage = Py_XNewRef(PyDict_GetItemWithError(storages, address));
    if (storage == NULL) {
        if (PyErr_Occurred() || (memory = PyObject_CallOneArg(k_untyped_storage, tensor)) == NULL ||
            (next = PyObject_GetAttr(registry, s__numbered)) == NULL)
            goto done;
    }
    if ((requires_grad = GET(get_requires_grad, tensor)) == NULL || (dtype = GET(get_dtype, tensor)) == NULL ||
        (flag = GET(get_is_cpu, tensor)) == NULL)
        goto done;
    Py_DECREF(flag);
    if (flag == Py_True)
        device = Py_NewRef(k_cpu);
    else {
        PyObject *own_device = GET(get_device, tensor);
        device = own_device == NULL ? NULL : PyObject_CallMethodOneArg(registry, s__one_of, own_device);
        Py_XDECREF(own_device);
    }
    if (device == NULL)
        goto done;
    inference = requires_grad == Py_False ? PyObject_CallOneArg(k_is_inference, tensor) : Py_NewRef(Py_False);
    if (inference == NULL)
        goto done;
    if (requires_grad == Py_False)
        leaf = Py_NewRef(Py_True);
    else
        leaf = born < 0 ? PyObject_CallOneArg(k_is_leaf, tensor) : Py_NewRef(Py_False);
    if (leaf == NULL)
        goto done;
    if (next != NULL && born >= 0) { /* An op's result in memory of its own begins at its beginning. */
        offset = Py_NewRef(zero);
        stride = Py_NewRef(Py_None);
    } else {
        offset = PyObject_CallOneArg(k_storage_offset, tensor);
        stride = offset == NULL ? NULL : PyObject_CallOneArg(k_stride, tensor);
    }
    if (stride == NULL)
        goto done;
    shape = GET(get_shape, tensor);
    if (shape == NULL || (same = PyObject_GetAttr(registry, s__same)) == NULL || !PyDict_CheckExact(same))
        goto done;
    kept = PyDict_SetDefault(same, shape, shape);
    if (kept == NULL || (entries = PyObject_GetAttr(registry, s_entries)) == NULL ||
        (facts = PyObject_GetAttr(registry, s_facts)) == NULL ||
        (by_address = PyObject_GetAttr(registry, s_by_address)) == NULL || !PyDict_CheckExact(by_address))
        goto done;
    Py_SETREF(shape, Py_NewRef(kept));
    changed = 1; /* From here on nothing is left to Python. */
    if (storage == NULL && (storage = numbered_now(registry, storages, next, address, memory)) == NULL)
        goto done;
    long place = next_of(entries, &recent);
    if (place < 0 || next_of(facts, &recent_facts) < 0 || (number = PyLong_FromLong(place)) == NULL)
        goto done;
    if ((entry = PyObject_CallOneArg(k_entry_type, tensor)) == NULL)
        goto done;
    Py_XSETREF(SLOT(entry, slot_tensor), Py_NewRef(number));
    Py_XSETREF(SLOT(entry, slot_storage), Py_NewRef(storage));
    Py_XSETREF(SLOT(entry, slot_requires_grad), Py_NewRef(requires_grad));
    Py_XSETREF(SLOT(entry, slot_untracked), Py_NewRef(inference));
    fact = PyTuple_Pack(10, shape, dtype, device, leaf, offset, stride, inference, storage, birth, now);
    own = PyLong_FromVoidPtr(tensor);
    if (fact == NULL || own == NULL || PyList_Append(recent_facts, fact) < 0 || PyList_Append(recent, entry) < 0 ||
        PyDict_SetItem(by_address, own, entry) < 0)
        goto done;
    if (born < 0 && (PyObject *)Py_TYPE(tensor) == k_parameter_type &&
        (in_set_of(registry, s_parameters, number) < 0 || in_set_of(registry, s_new_parameters, number) < 0))
        goto done;
    done = 1;
done:
    Py_XDECREF(storages); Py_XDECREF(address); Py_XDECREF(storage); Py_XDECREF(memory); Py_XDECREF(next);
    Py_XDECREF(shape); Py_XDECREF(requires_grad); Py_XDECREF(dtype); Py_XDECREF(device); Py_XDECREF(inference);
    Py_XDECREF(leaf); Py_XDECREF(offset); Py_XDECREF(stride); Py_XDECREF(same); Py_XDECREF(entries);
    Py_XDECREF(facts); Py_XDECREF(recent); Py_XDECREF(recent_facts); Py_XDECREF(number); Py_XDECREF(fact);
    Py_XDECREF(by_address); Py_XDECREF(own);
    if (done)
        return entry;
    Py_CLEAR(entry);
    if (changed || !let_go())
        return NULL;
    return PyObject_CallFunctionObjArgs(k_added, registry, tensor, birth, now, NULL);
}

static PyObject *registry_add_method(PyObject *registry, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "add(tensor, birth, now)");
        return NULL;
    }
    return registry_add(registry, args[0], args[1], args[2]);
}

/* Registry.enter */
static PyObject *registry_enter_method(PyObject *registry, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "enter(tensor, birth, now)");
        return NULL;
    }
    PyObject *by_address = PyObject_GetAttr(registry, s_by_address);
    if (by_address == NULL)
        return NULL;
    PyObject *entry = entry_of(by_address, args[0]);
    Py_DECREF(by_address);
    if (entry != NULL || PyErr_Occurred())
        return entry;
    return registry_add(registry, args[0], args[1], args[2]);
}

/* --- ops.py ------------------------------------------------------------------------------------------- */

/* Stands for the method __torch_function__ of one recorder. Torch asks whose it is: `__self__`. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *recorder, *recording, *registry, *by_address, *stacks, *regions, *names;
    PyObject *python; /* the recorder's own method, for whatever is unusual */
} Handler;

/* One call while it is recorded. */
typedef struct {
    PyObject *inputs[MAX_INPUTS], *entries[MAX_INPUTS];
    long long before[MAX_INPUTS];
    int count, alive, gradients_on;
    PyObject *numbers, *versions, *first;
} Call;

static void let_go_of(Call *call)
{
    for (int at = 0; at < call->count; at++) {
        Py_DECREF(call->inputs[at]);
        Py_XDECREF(call->entries[at]);
    }
    Py_XDECREF(call->numbers);
    Py_XDECREF(call->versions);
    Py_XDECREF(call->first);
}

/* gather() of arguments.py: 0, or -1 where there is a subclass of Tensor, or too much. No code of the program's runs. */
static int gather(Call *call, PyObject *value, int depth)
{
    PyTypeObject *kind = Py_TYPE(value);
    if (is_plain(value)) {
        if (call->count == MAX_INPUTS)
            return -1;
        call->entries[call->count] = NULL;
        call->inputs[call->count++] = Py_NewRef(value);
        return 0;
    }
    if (kind == &PyLong_Type || kind == &PyFloat_Type || value == Py_None || kind == &PyBool_Type || kind == &PyUnicode_Type)
        return 0;
    if (depth > 8)
        return -1;
    if (kind == &PyTuple_Type || kind == &PyList_Type) {
        for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(value); at++)
            if (gather(call, PySequence_Fast_GET_ITEM(value, at), depth + 1) < 0)
                return -1;
        return 0;
    }
    if (kind == &PySlice_Type) {
        PySliceObject *slice = (PySliceObject *)value;
        return gather(call, slice->start, depth + 1) < 0 || gather(call, slice->stop, depth + 1) < 0 ||
                       gather(call, slice->step, depth + 1) < 0
                   ? -1
                   : 0;
    }
    if (is_one_of(kind, k_plain))
        return 0;
    return PyType_IsSubtype(kind, (PyTypeObject *)k_tensor_type) || PyList_Check(value) || PyTuple_Check(value) ||
                   PyDict_Check(value)
               ? -1
               : 0;
}

/* A tensor's version; -1 where it raised. */
static long long version_of(PyObject *tensor)
{
    PyObject *value = GET(get_version, tensor);
    if (value == NULL)
        return -1;
    long long version = PyLong_AsLongLong(value);
    Py_DECREF(value);
    return version;
}

/* What record() does before the call. 1: done, 0: unusual, or raised. Nothing but entries has been made. */
static int before_call(Handler *self, Call *call, PyObject *args, PyObject *kwargs)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(args); at++)
        if (gather(call, PyTuple_GET_ITEM(args, at), 0) < 0)
            return 0;
    if (kwargs != NULL) {
        PyObject *key, *value;
        Py_ssize_t place = 0;
        while (PyDict_Next(kwargs, &place, &key, &value))
            if (gather(call, value, 0) < 0)
                return 0;
    }
    if ((call->numbers = PyTuple_New(call->count)) == NULL)
        return 0;
    int moved = 0;
    for (int at = 0; at < call->count; at++) {
        PyObject *tensor = call->inputs[at], *entry = entry_of(self->by_address, tensor);
        if (entry == NULL) {
            PyObject *ops = PyErr_Occurred() ? NULL : PyObject_GetAttr(self->recording, s_ops), *recent = NULL;
            long now = ops == NULL ? -1 : next_of(ops, &recent);
            Py_XDECREF(ops);
            Py_XDECREF(recent);
            PyObject *place = now < 0 ? NULL : PyLong_FromLong(now);
            entry = place == NULL ? NULL : registry_add(self->registry, tensor, minus_one, place);
            Py_XDECREF(place);
            if (entry == NULL)
                return 0;
        }
        call->entries[at] = entry;
        PyObject *number = SLOT(entry, slot_tensor), *needs = SLOT(entry, slot_requires_grad);
        if (number == NULL || needs == NULL || SLOT(entry, slot_untracked) != Py_False)
            return 0;
        PyTuple_SET_ITEM(call->numbers, at, Py_NewRef(number));
        call->alive |= needs == Py_True;
        call->before[at] = version_of(tensor);
        if (call->before[at] < 0)
            return 0;
        moved |= call->before[at] != 0;
    }
    if (!moved)
        call->versions = Py_NewRef(zeros[call->count]);
    else if ((call->versions = PyTuple_New(call->count)) == NULL)
        return 0;
    for (int at = 0; moved && at < call->count; at++) {
        PyObject *version = PyLong_FromLongLong(call->before[at]);
        if (version == NULL)
            return 0;
        PyTuple_SET_ITEM(call->versions, at, version);
    }
    PyObject *grad = PyObject_CallNoArgs(k_grad_enabled);
    PyObject *inference = grad == NULL ? NULL : PyObject_CallNoArgs(k_inference_mode);
    PyObject *mode = inference == NULL ? NULL : PyObject_GetAttr(self->regions, s_mode);
    int same = mode != NULL && PyTuple_CheckExact(mode) &&
               PyTuple_GET_SIZE(mode) == 2 && PyTuple_GET_ITEM(mode, 0) == grad && PyTuple_GET_ITEM(mode, 1) == inference;
    call->gradients_on = grad == Py_True;
    Py_XDECREF(grad);
    Py_XDECREF(inference);
    Py_XDECREF(mode);
    return same && (call->first = PyObject_CallNoArgs(k_sequence_number)) != NULL;
}

static PyObject *listed(PyObject **items, int count)
{
    PyObject *list = PyList_New(count);
    for (int at = 0; list != NULL && at < count; at++)
        PyList_SET_ITEM(list, at, Py_NewRef(items[at]));
    return list;
}

/* What the inputs' versions are now, where they moved; NULL without an exception where none did. */
static PyObject *moved_to(Call *call)
{
    int at = 0;
    for (; at < call->count; at++) {
        long long version = version_of(call->inputs[at]);
        if (version != call->before[at])
            break;
    }
    if (at == call->count)
        return NULL;
    PyErr_Clear();
    PyObject *after = PyTuple_New(call->count);
    for (at = 0; after != NULL && at < call->count; at++) {
        PyObject *version = GET(get_version, call->inputs[at]);
        if (version == NULL) {
            PyErr_Clear();
            version = PyObject_CallOneArg(k_version_of, call->inputs[at]);
        }
        if (version == NULL)
            Py_CLEAR(after);
        else
            PyTuple_SET_ITEM(after, at, version);
    }
    return after;
}

/* `entry.requires_grad = result.requires_grad`, and whether it does; -1 where that raised. */
static int note_gradient(PyObject *entry, PyObject *tensor)
{
    PyObject *needs = (PyObject *)Py_TYPE(tensor) == k_tensor_type ? GET(get_requires_grad, tensor)
                                                                    : PyObject_CallOneArg(k_needs_grad, tensor);
    if (needs == NULL)
        return -1;
    int truth = needs == Py_True;
    Py_XSETREF(SLOT(entry, slot_requires_grad), needs);
    return truth;
}

/* The entries of what a call returned. -1: raised, else whether one requires grad. */
static int enter_results(Handler *self, PyObject *results, PyObject *outputs, PyObject *now)
{
    int connected = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(results); at++) {
        PyObject *tensor = PyList_GET_ITEM(results, at);
        PyObject *entry = entry_of(self->by_address, tensor);
        if (entry == NULL && !PyErr_Occurred())
            entry = registry_add(self->registry, tensor, now, now);
        int needs = entry == NULL ? -1 : note_gradient(entry, tensor);
        if (needs >= 0)
            PyTuple_SET_ITEM(outputs, at, Py_NewRef(SLOT(entry, slot_tensor)));
        Py_XDECREF(entry);
        if (needs < 0)
            return -1;
        connected |= needs;
    }
    return connected;
}

static int truth_with(PyObject *function, PyObject *one, PyObject *other)
{
    PyObject *value = PyObject_CallFunctionObjArgs(function, one, other, NULL);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

/* Whether the op cut the history off (Trait.CUT, which is given as `bit`); -1: raised. */
static long cut(Handler *self, Call *call, PyObject *outputs, PyObject *writes, int connected, int made, long bit)
{
    if (!call->alive)
        return 0;
    if (!connected) {
        int transformed = truth_of_call(k_under_transform);
        if (transformed < 0)
            return -1;
        if (transformed) {
            PyObject *value = PyObject_CallMethodOneArg(self->registry, s_reread, outputs);
            connected = value == NULL ? -1 : PyObject_IsTrue(value);
            Py_XDECREF(value);
            if (connected < 0)
                return -1;
        }
    }
    if (connected) {
        if (call->gradients_on || PyTuple_GET_SIZE(writes) || made)
            return 0;
        int apart = truth_with(k_apart, call->numbers, outputs);
        return apart < 0 ? -1 : apart ? bit : 0;
    }
    PyObject *entries = PyObject_GetAttr(self->registry, s_entries);
    int keeps = entries == NULL ? -1 : truth_with(k_keeps_gradient, entries, writes);
    Py_XDECREF(entries);
    return keeps < 0 ? -1 : keeps ? 0 : bit;
}

static int truth_of(PyObject *owner, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(owner, name);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

static int done(PyObject *value)
{
    Py_XDECREF(value);
    return value == NULL ? -1 : 0;
}

/* What is noted beside the op, of a few calls alone. */
static int note_beside(Handler *self, PyObject *name, PyObject *args, PyObject *kwargs, PyObject *results, PyObject *writes,
                       PyObject *now, PyObject *frame)
{
    int status = -1;
    PyObject *named = kwargs != NULL ? Py_NewRef(kwargs) : PyDict_New();
    PyObject *exports = named == NULL ? NULL : PyObject_GetAttr(self->recording, s_exports);
    PyObject *vitals = exports == NULL ? NULL : PyObject_GetAttr(self->recording, s_vitals);
    if (vitals == NULL)
        goto end;
    if (vitals != Py_None) {
        int measured = PySet_Contains(k_measured, name);
        if (measured < 0 ||
            (measured && done(PyObject_CallMethodObjArgs(self->recording, s_activated, name, results, NULL)) < 0))
            goto end;
    }
    Py_ssize_t given = PyTuple_GET_SIZE(args), keywords = PyDict_GET_SIZE(named);
    if (PyTuple_GET_SIZE(writes) && (keywords || given > 1)) {
        if (done(PyObject_CallFunctionObjArgs(k_note_numbers, self->recording, now, args, named, NULL)) < 0)
            goto end;
    } else {
        int scaling = given && !keywords ? PySet_Contains(k_scaling, name) : 0;
        PyObject *last = given ? PyTuple_GET_ITEM(args, given - 1) : NULL;
        if (scaling < 0)
            goto end;
        if (scaling && (PyFloat_CheckExact(last) || PyLong_CheckExact(last))) {
            PyObject *scales = PyObject_GetAttr(self->recording, s_scales);
            int kept = scales == NULL ? -1 : PyObject_SetItem(scales, now, last);
            Py_XDECREF(scales);
            if (kept < 0)
                goto end;
        } else if (keywords) {
            int alpha = PyDict_Contains(named, s_alpha);
            if (alpha < 0 ||
                (alpha && done(PyObject_CallFunctionObjArgs(k_note_numbers, self->recording, now, args, named, NULL)) < 0))
                goto end;
        }
    }
    int common = truth_of(exports, s_numbers);
    if (common == 0)
        common = truth_of(exports, s_common);
    if (common > 0) {
        PyObject *values = PyDict_Values(named), *rest = values == NULL ? NULL : PyList_AsTuple(values);
        PyObject *all = rest == NULL ? NULL : PySequence_Concat(args, rest);
        common = all == NULL ? -1 : done(PyObject_CallMethodObjArgs(exports, s_used, self->recording, now, all, frame, NULL));
        Py_XDECREF(values);
        Py_XDECREF(rest);
        Py_XDECREF(all);
    }
    status = common < 0 ? -1 : 0;
end:
    Py_XDECREF(named);
    Py_XDECREF(exports);
    Py_XDECREF(vitals);
    return status;
}

static PyObject *raised(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyErr_NormalizeException(&kind, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(kind);
    Py_XDECREF(traceback);
    return value;
#endif
}

static void raise_again(PyObject *error)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* The number of the stack that ends in that frame. What was called is told meanwhile: no frame of ours tells of it. */
static PyObject *site_of_call(Handler *self, PyObject *func, PyObject *frame)
{
    if (PyObject_SetAttr(self->stacks, s_handed, func) < 0)
        return NULL;
    PyObject *site = PyObject_CallMethodOneArg(self->stacks, s_at, frame);
    PyObject *error = site == NULL ? raised() : NULL;
    int told = PyObject_SetAttr(self->stacks, s_handed, Py_None);
    if (error != NULL)
        raise_again(error);
    else if (told < 0)
        Py_CLEAR(site);
    return site;
}

/* What record() does after the call returned. -1: raised. */
static int after_call(Handler *self, Call *call, PyObject *func, PyObject *name, PyObject *args, PyObject *kwargs, PyObject *result,
                      PyObject *frame)
{
    int status = -1;
    PyObject *last = PyObject_CallNoArgs(k_sequence_number), *after, *writes = NULL, *ops = NULL, *recent = NULL;
    PyObject *now = NULL, *results = NULL, *outputs = NULL, *site = NULL, *op = NULL, *first = NULL;
    PyObject *called = NULL, *region = NULL, *traits = NULL;
    if (last == NULL)
        return -1;
    after = moved_to(call);
    if (after == NULL && PyErr_Occurred())
        goto end;
    if (after == NULL)
        writes = Py_NewRef(no_items);
    else {
        PyObject *inputs = listed(call->inputs, call->count), *entries = listed(call->entries, call->count);
        if (inputs != NULL && entries != NULL)
            writes = PyObject_CallFunctionObjArgs(k_writes_of, inputs, entries, call->versions, after, NULL);
        Py_XDECREF(inputs);
        Py_XDECREF(entries);
    }
    if (writes == NULL || !PyTuple_CheckExact(writes) || (ops = PyObject_GetAttr(self->recording, s_ops)) == NULL)
        goto end;
    long place = next_of(ops, &recent);
    if (place < 0 || (now = PyLong_FromLong(place)) == NULL || (results = PyList_New(0)) == NULL)
        goto end;
    if ((PyObject *)Py_TYPE(result) == k_tensor_type) {
        if (PyList_Append(results, result) < 0)
            goto end;
    } else {
        PyObject *whole = PyTuple_Pack(1, result);
        int failed = whole == NULL ? -1 : done(PyObject_CallFunctionObjArgs(k_gather, whole, results, NULL));
        Py_XDECREF(whole);
        if (failed < 0)
            goto end;
        if (!PyList_GET_SIZE(results) && !PyTuple_GET_SIZE(writes)) {
            PyObject *looked_at = PyObject_GetAttr(self->registry, s_looked_at);
            status = looked_at == NULL ? -1 : done(PyObject_CallMethodOneArg(looked_at, s_update, call->numbers));
            Py_XDECREF(looked_at);
            goto end;
        }
    }
    if ((outputs = PyTuple_New(PyList_GET_SIZE(results))) == NULL)
        goto end;
    int connected = enter_results(self, results, outputs, now);
    if (connected < 0)
        goto end;
    long long made = PyLong_AsLongLong(last) - PyLong_AsLongLong(call->first);
    long bits = cut(self, call, outputs, writes, connected, made > 0, PyLong_AsLong(k_cut));
    int cast = bits < 0 ? -1 : truth_of_call(k_any_autocast);
    if (cast < 0)
        goto end;
    if (cast)
        bits |= PyLong_AsLong(k_autocast);
    long around = number_at(self->recording, s_traits);
    if (around == -1 && PyErr_Occurred())
        goto end;
    first = Py_NewRef(call->first);
    if (around && (unsigned long)number_at(self->recording, s_thread) != PyThread_get_thread_ident()) {
        Py_SETREF(first, Py_NewRef(minus_one)); /* A backward thread of another device has numbers of its own. */
        Py_SETREF(last, Py_NewRef(minus_one));
    }
    if ((site = site_of_call(self, func, frame)) == NULL ||
        (called = PyObject_GetAttr(self->recording, s_call)) == NULL ||
        (region = PyObject_GetAttr(self->recording, s_region)) == NULL ||
        (traits = PyLong_FromLong(bits | around)) == NULL)
        goto end;
    op = PyTuple_Pack(OP_FIELDS, name, call->numbers, call->versions, outputs, writes, site, called, region, traits, first,
                      last, no_text);
    if (op == NULL || PyList_Append(recent, op) < 0)
        goto end;
    status = note_beside(self, name, args, kwargs, results, writes, now, frame);
end:
    Py_XDECREF(last); Py_XDECREF(after); Py_XDECREF(writes); Py_XDECREF(ops); Py_XDECREF(recent); Py_XDECREF(now);
    Py_XDECREF(results); Py_XDECREF(outputs); Py_XDECREF(site); Py_XDECREF(op); Py_XDECREF(first);
    Py_XDECREF(called); Py_XDECREF(region); Py_XDECREF(traits);
    return status;
}

/* The call raised: keep it, with what it wrote before. The exception stays what it is, unless an interrupt strikes. */
static void call_failed(Handler *self, Call *call, PyObject *func, PyObject *name)
{
    PyObject *error = raised(), *around = PyErr_GetHandledException();
    PyObject *inputs = listed(call->inputs, call->count), *entries = listed(call->entries, call->count), *kept = NULL;
    PyErr_SetHandledException(error);
    if (inputs != NULL && entries != NULL && PyObject_SetAttr(self->stacks, s_handed, func) == 0)
        kept = PyObject_CallMethodObjArgs(self->recorder, s__failed, name, inputs, entries, call->versions, zero, error, NULL);
    PyErr_SetHandledException(around == NULL ? Py_None : around);
    if (kept == NULL && PyErr_ExceptionMatches(PyExc_RecursionError)) { /* There was no room even for the call. */
        PyErr_Clear();
        kept = PyObject_SetAttr(self->recording, s_out_of_stack, Py_True) < 0 ? NULL : Py_NewRef(Py_None);
    }
    PyObject *struck = kept == NULL ? raised() : NULL;
    if (PyObject_SetAttr(self->stacks, s_handed, Py_None) < 0)
        PyErr_Clear();
    Py_XDECREF(around);
    Py_XDECREF(inputs);
    Py_XDECREF(entries);
    if (struck == NULL)
        raise_again(error);
    else {
        raise_again(struck);
        Py_DECREF(error);
    }
    Py_XDECREF(kept);
}

/* Recording a call that returned has raised: 0, and the program goes on; -1 where it is an interrupt. */
static int recording_failed(Handler *self)
{
    if (PyErr_ExceptionMatches(PyExc_RecursionError)) {
        PyErr_Clear();
        return PyObject_SetAttr(self->recording, s_out_of_stack, Py_True);
    }
    PyObject *error = raised();
    if (PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyObject *told = PyObject_CallMethodOneArg(self->recorder, s_on_failure, error);
        Py_DECREF(error);
        return done(told);
    }
    int noted = PyObject_SetAttr(self->recording, s_struck, Py_True);
    if (noted < 0)
        PyErr_Clear();
    raise_again(error);
    return -1;
}

/* Whether no class is named that overrides anything: torch's functions written in Python name the plain ones. */
static int none_overrides(PyObject *types)
{
    if (!PyTuple_CheckExact(types))
        return 0;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(types); at++)
        if (PyTuple_GET_ITEM(types, at) != k_tensor_type && PyTuple_GET_ITEM(types, at) != k_parameter_type)
            return 0;
    return 1;
}

/* Whether now is a usual moment for a usual call: the name of the function; NULL where it is not, or something raised.

   Of what is written in Python the frames, and those of torch's that hand it on, are looked at together with ours; an
   object of the program's may not even be hashed. */
static PyObject *usual(Handler *self, PyObject *func, PyObject *types)
{
    if (!is_one_of(Py_TYPE(func), k_functions) || !none_overrides(types))
        return NULL;
    PyObject *name = Py_XNewRef(PyDict_GetItemWithError(self->names, func));
    if (name == NULL)
        return NULL;
    PyObject *still = PyObject_GetAttr(self->recording, s_still);
    PyObject *on = still == NULL ? NULL : PyObject_GetAttr(self->recording, s_recording);
    PyObject *values = on == NULL ? NULL : PyObject_GetAttr(self->recording, s_values);
    int plain = still == Py_None && on == Py_True && values == Py_None;
    Py_XDECREF(still);
    Py_XDECREF(on);
    Py_XDECREF(values);
    plain = plain && number_at(self->recording, s_traits) == 0;
    PyObject *depth = plain ? PyObject_CallNoArgs(k_mode_depth) : NULL;
    plain = depth != NULL && PyLong_AsLong(depth) == 0;
    Py_XDECREF(depth);
    if (!plain || truth_of_call(k_is_tracing) != 0)
        Py_CLEAR(name);
    return name;
}

/* Whether a call is of those that are not recorded, and nothing follows it. */
static int passes(Handler *self, PyObject *func)
{
    if (!is_one_of(Py_TYPE(func), k_functions) || PySet_Contains(k_passed, func) != 1)
        return 0;
    PyObject *still = PyObject_GetAttr(self->recording, s_still);
    PyObject *watch = still == NULL ? NULL : PyObject_GetAttr(self->recording, s_watch);
    Py_XDECREF(still);
    Py_XDECREF(watch);
    return still == Py_None && watch == Py_None;
}

/* Recorder.__torch_function__ */
static PyObject *handle(PyObject *callable, PyObject *const *given, size_t flags, PyObject *keywords)
{
    Handler *self = (Handler *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject *result = NULL, *name = NULL, *frame = (PyObject *)PyEval_GetFrame();
    PyObject *kwargs = count == 4 && given[3] != Py_None ? given[3] : NULL;
    Call call;
    call.count = call.alive = 0;
    call.numbers = call.versions = call.first = NULL;
    if (keywords == NULL && (count == 3 || count == 4) && frame != NULL && PyTuple_CheckExact(given[2]) &&
        (kwargs == NULL || PyDict_CheckExact(kwargs))) {
        name = usual(self, given[0], given[1]);
        if (name == NULL && !PyErr_Occurred() && passes(self, given[0]))
            return PyObject_Call(given[0], given[2], kwargs);
    }
    if (name == NULL || !before_call(self, &call, given[2], kwargs)) {
        let_go_of(&call);
        Py_XDECREF(name);
        return let_go() ? PyObject_Vectorcall(self->python, given, flags, keywords) : NULL;
    }
    Py_INCREF(frame);
    result = PyObject_Call(given[0], given[2], kwargs);
    if (result == NULL)
        call_failed(self, &call, given[0], name);
    else if (after_call(self, &call, given[0], name, given[2], kwargs, result, frame) < 0 && recording_failed(self) < 0)
        Py_CLEAR(result);
    Py_DECREF(frame);
    Py_DECREF(name);
    let_go_of(&call);
    return result;
}

static int handler_traverse(PyObject *object, visitproc visit, void *arg)
{
    Handler *self = (Handler *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->recorder); Py_VISIT(self->recording); Py_VISIT(self->registry); Py_VISIT(self->by_address);
    Py_VISIT(self->stacks); Py_VISIT(self->regions); Py_VISIT(self->names); Py_VISIT(self->python);
    return 0;
}

static int handler_clear(PyObject *object)
{
    Handler *self = (Handler *)object;
    Py_CLEAR(self->recorder); Py_CLEAR(self->recording); Py_CLEAR(self->registry); Py_CLEAR(self->by_address);
    Py_CLEAR(self->stacks); Py_CLEAR(self->regions); Py_CLEAR(self->names); Py_CLEAR(self->python);
    return 0;
}

static void handler_dealloc(PyObject *object)
{
    PyTypeObject *kind = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    handler_clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(kind);
}

static PyMemberDef handler_members[] = {
    {"__self__", T_OBJECT, offsetof(Handler, recorder), READONLY, "whose method it stands for"},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Handler, vectorcall), READONLY, NULL},
    {NULL},
};
static PyType_Slot handler_slots[] = {
    {Py_tp_dealloc, handler_dealloc}, {Py_tp_traverse, handler_traverse}, {Py_tp_clear, handler_clear},
    {Py_tp_members, handler_members}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_doc, "__torch_function__ of one recorder."}, {0, NULL},
};
static PyType_Spec handler_spec = {
    "autograd_inspector.capture.native._native.Handler", sizeof(Handler), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, handler_slots,
};
static PyTypeObject *handler_type;

/* handler(recorder): what to call in the place of the recorder's own method. */
static PyObject *make_handler(PyObject *module, PyObject *recorder)
{
    if (!configured) {
        PyErr_SetString(PyExc_RuntimeError, "configure() comes first");
        return NULL;
    }
    Handler *self = PyObject_GC_New(Handler, handler_type);
    if (self == NULL)
        return NULL;
    self->vectorcall = handle;
    self->recording = self->registry = self->by_address = self->stacks = self->regions = self->names = self->python = NULL;
    self->recorder = Py_NewRef(recorder);
    PyObject_GC_Track((PyObject *)self);
    if ((self->recording = PyObject_GetAttr(recorder, s_recording)) == NULL ||
        (self->regions = PyObject_GetAttr(recorder, s_regions)) == NULL ||
        (self->names = PyObject_GetAttr(recorder, s__names)) == NULL ||
        (self->registry = PyObject_GetAttr(self->recording, s_registry)) == NULL ||
        (self->stacks = PyObject_GetAttr(self->recording, s_stacks)) == NULL ||
        (self->by_address = PyObject_GetAttr(self->registry, s_by_address)) == NULL ||
        (self->python = PyMethod_New(k_handled, recorder)) == NULL)
        Py_CLEAR(self);
    else if (!PyDict_CheckExact(self->names) || !PyDict_CheckExact(self->by_address)) {
        PyErr_SetString(PyExc_TypeError, "a recorder keeps dictionaries");
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

/* --- the module --------------------------------------------------------------------------------------- */

static int take(PyObject *given, const char *name, PyObject **into)
{
    PyObject *value = PyDict_GetItemString(given, name);
    if (value == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    Py_XSETREF(*into, Py_NewRef(value));
    return 0;
}

/* configure(**what torch and the package have). TypeError where a descriptor is of another kind than is known here. */
static PyObject *configure(PyObject *module, PyObject *args, PyObject *given)
{
    if (given == NULL || PyTuple_GET_SIZE(args)) {
        PyErr_SetString(PyExc_TypeError, "configure takes keywords");
        return NULL;
    }
#define TAKE(n)                                                                                                       \
    if (take(given, #n, &k_##n) < 0)                                                                                  \
        return NULL;
    CALLABLES(TAKE)
    OBJECTS(TAKE)
    if (!PyTuple_CheckExact(k_plain) || !PyTuple_CheckExact(k_functions)) {
        PyErr_SetString(PyExc_TypeError, "classes are given as tuples");
        return NULL;
    }
    GETTERS(TAKE)
    SLOTS(TAKE)
    TYPES(TAKE)
#define POINT_TO_GETTER(n)                                                                                            \
    if (!Py_IS_TYPE(k_##n, &PyGetSetDescr_Type) ||                                                                    \
        !PyType_IsSubtype((PyTypeObject *)k_tensor_type, PyDescr_TYPE(k_##n))) {                                      \
        PyErr_SetString(PyExc_TypeError, #n " is no attribute of torch's in C");                                      \
        return NULL;                                                                                                  \
    }                                                                                                                 \
    g_##n = ((PyGetSetDescrObject *)k_##n)->d_getset;
    GETTERS(POINT_TO_GETTER)
#define POINT_TO_SLOT(n)                                                                                              \
    if (!Py_IS_TYPE(k_##n, &PyMemberDescr_Type) || PyDescr_TYPE(k_##n) != (PyTypeObject *)k_entry_type) {             \
        PyErr_SetString(PyExc_TypeError, #n " is no slot of an entry");                                               \
        return NULL;                                                                                                  \
    }                                                                                                                 \
    o_##n = ((PyMemberDescrObject *)k_##n)->d_member->offset;
    SLOTS(POINT_TO_SLOT)
    configured = 1;
    Py_RETURN_NONE;
}

static PyMethodDef at_method = {"at", stacks_at, METH_O, "The id of the stack that ends in that frame."};
static PyMethodDef add_method = {"add", (PyCFunction)(void (*)(void))registry_add_method, METH_FASTCALL | METH_KEYWORDS,
                                 "A new entry for an object that was never met."};
static PyMethodDef enter_method = {"enter", (PyCFunction)(void (*)(void))registry_enter_method, METH_FASTCALL | METH_KEYWORDS,
                                   "The entry of this object, made on first sight."};

/* method(class, name): one of the above as a method of that class. */
static PyObject *method(PyObject *module, PyObject *args)
{
    PyTypeObject *owner;
    const char *name;
    if (!PyArg_ParseTuple(args, "O!s", &PyType_Type, &owner, &name))
        return NULL;
    PyMethodDef *known[] = {&at_method, &add_method, &enter_method, &usual_method};
    for (size_t at = 0; at < sizeof known / sizeof *known; at++)
        if (strcmp(known[at]->ml_name, name) == 0)
            return PyDescr_NewMethod(owner, known[at]);
    PyErr_SetString(PyExc_KeyError, name);
    return NULL;
}

static PyMethodDef functions[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS, "Tell what torch has."},
    {"handler", make_handler, METH_O, "What to call in the place of a recorder's __torch_function__."},
    {"method", method, METH_VARARGS, "A method in C for a class."},
    {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "The hot path of a capture in C.", -1, functions};

PyMODINIT_FUNC PyInit__native(void)
{
#define INTERN(n)                                                                                                     \
    if ((s_##n = PyUnicode_InternFromString(#n)) == NULL)                                                             \
        return NULL;
    NAMES(INTERN)
    if ((minus_one = PyLong_FromLong(-1)) == NULL || (zero = PyLong_FromLong(0)) == NULL ||
        (no_text = PyUnicode_FromString("")) == NULL || (no_items = PyTuple_New(0)) == NULL)
        return NULL;
    for (int count = 0; count <= MAX_INPUTS; count++) {
        if ((zeros[count] = PyTuple_New(count)) == NULL)
            return NULL;
        for (int at = 0; at < count; at++)
            PyTuple_SET_ITEM(zeros[count], at, Py_NewRef(zero));
    }
    if ((handler_type = (PyTypeObject *)PyType_FromSpec(&handler_spec)) == NULL)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
#ifdef SOURCE
    if (module != NULL && PyModule_AddStringConstant(module, "SOURCE", SOURCE) < 0)
        Py_CLEAR(module);
#endif
    return module;
}
