/* What the files in C share: the names of attributes, what `configure` was given, and how an entry is found. */

#ifndef NATIVE_H
#define NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "The records are written under the GIL."
#endif

#define MAX_INPUTS 32

#define NAMES(X)                                                                                                      \
    X(stop) X(_kinds) X(_caller) X(_calls) X(keys) X(graph_code) X(_intern) X(storages) X(_numbered) X(_sweep_at)     \
    X(met) X(_numbered_now) X(_same) X(_one_of) X(facts) X(entries) X(recent) X(start) X(parameters)                  \
    X(new_parameters) X(add) X(update) X(recording) X(registry) X(stacks) X(by_address) X(_names) X(regions)          \
    X(still) X(traits) X(values) X(mode) X(_failed) X(on_failure) X(out_of_stack) X(struck) X(ops) X(at) X(call)      \
    X(region) X(thread) X(vitals) X(activated) X(scales) X(exports) X(numbers) X(common) X(used) X(looked_at)         \
    X(requires_grad) X(reread) X(enter) X(alpha) X(handed) X(next_functions) X(_sequence_nr) X(name) X(variable)     \
    X(data) X(unpack_hook) X(_bounds) X(_saved) X(live) X(leaves) X(_borders) X(inner) X(led) X(keep)   \
    X(_plans) X(_by_address) X(_storages) X(_first) X(_moves) X(_told) X(_shapes) X(_dtypes) X(_alone) X(_aliased)    \
    X(_late) X(_named) X(id_of) X(of) X(valid) X(cpu) X(watch)
#define CALLABLES(X)                                                                                                  \
    X(kind_of_file) X(walked) X(added) X(handled) X(storage_address) X(untyped_storage) X(weak_ref) X(is_inference)   \
    X(is_leaf) X(storage_offset) X(stride) X(mode_depth) X(is_tracing) X(grad_enabled) X(inference_mode)              \
    X(sequence_number) X(any_autocast) X(under_transform) X(version_of) X(writes_of) X(keeps_gradient) X(apart)       \
    X(gather) X(needs_grad) X(note_numbers) X(is_contiguous) X(place_of)
#define OBJECTS(X) X(cpu) X(plain) X(functions) X(measured) X(scaling) X(cut) X(autocast) X(unpacked)      \
    X(statistics) X(leaf_sequence) X(passed)
#define TYPES(X) X(tensor_type) X(parameter_type) X(entry_type) X(node_type) X(saved_type) X(function_type)
#define GETTERS(X) X(get_version) X(get_requires_grad) X(get_shape) X(get_dtype) X(get_is_cpu) X(get_device) X(get_symbolic)
#define SLOTS(X) X(slot_tensor) X(slot_storage) X(slot_requires_grad) X(slot_untracked)

#define EXTERN_NAME(n) extern PyObject *s_##n;
NAMES(EXTERN_NAME)
#define EXTERN_GIVEN(n) extern PyObject *k_##n;
CALLABLES(EXTERN_GIVEN)
OBJECTS(EXTERN_GIVEN)
TYPES(EXTERN_GIVEN)
#define EXTERN_GETTER(n) extern PyGetSetDef *g_##n;
GETTERS(EXTERN_GETTER)
#define EXTERN_SLOT(n) extern Py_ssize_t o_##n;
SLOTS(EXTERN_SLOT)
extern PyObject *minus_one, *zero, *no_text, *no_items;

#define GET(descriptor, object) (g_##descriptor->get((object), g_##descriptor->closure))
#define SLOT(entry, name) (*(PyObject **)((char *)(entry) + o_##name))

static inline int is_plain(PyObject *value)
{
    PyObject *kind = (PyObject *)Py_TYPE(value);
    return kind == k_tensor_type || kind == k_parameter_type;
}

/* Whether a class is one of those. None is hashed: of a class of the program's that may be code of its metaclass's. */
static inline int is_one_of(PyTypeObject *kind, PyObject *kinds)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(kinds); at++)
        if (PyTuple_GET_ITEM(kinds, at) == (PyObject *)kind)
            return 1;
    return 0;
}

/* Whether what was raised is a failure, which is let go of: the Python function meets it again, and handles it. */
static inline int let_go(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return 0;
    PyErr_Clear();
    return 1;
}

static inline long number_at(PyObject *owner, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(owner, name);
    if (value == NULL)
        return -1;
    long number = PyLong_AsLong(value);
    Py_DECREF(value);
    return number;
}

static inline int truth_of_call(PyObject *function)
{
    PyObject *value = PyObject_CallNoArgs(function);
    if (value == NULL)
        return -1;
    int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    Py_DECREF(value);
    return truth;
}

/* Whether an entry is of that tensor, which lives. */
static inline int refers_to(PyObject *entry, PyObject *tensor)
{
    if ((PyObject *)Py_TYPE(entry) != k_entry_type)
        return 0;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object = NULL;
    if (PyWeakref_GetRef(entry, &object) <= 0) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(object);
    return object == tensor;
#else
    return PyWeakref_GetObject(entry) == tensor;
#endif
}

/* The entry of a tensor as a new reference; NULL where it has none, or raised. */
static inline PyObject *entry_of(PyObject *by_address, PyObject *tensor)
{
    PyObject *address = PyLong_FromVoidPtr(tensor);
    if (address == NULL)
        return NULL;
    PyObject *entry = PyDict_GetItemWithError(by_address, address);
    Py_DECREF(address);
    return entry != NULL && refers_to(entry, tensor) ? Py_NewRef(entry) : NULL;
}

/* _native.c: the number of the memory behind a tensor that is at that address; NULL where it has none, or raised. */
PyObject *storage_at(PyObject *registry, PyObject *storages, PyObject *address, PyObject *tensor);

/* walk.c */
extern PyMethodDef usual_method;

#endif
