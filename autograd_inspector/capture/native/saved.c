/* What a usual node saved: what saved_tensors.py does in Python, with the same records.

   What is unusual is read by SavedTensors.of. */

#include "walk.h"

/* "_saved_" + name, each made once. A borrowed reference. */
static PyObject *unpacked_name(PyObject *name)
{
    static PyObject *made = NULL;
    if (made == NULL && (made = PyDict_New()) == NULL)
        return NULL;
    PyObject *known = PyDict_GetItemWithError(made, name);
    if (known != NULL || PyErr_Occurred())
        return known;
    PyObject *whole = PyUnicode_Concat(k_unpacked, name);
    if (whole == NULL)
        return NULL;
    PyUnicode_InternInPlace(&whole);
    known = PyDict_SetDefault(made, name, whole);
    Py_DECREF(whole);
    return known;
}

/* Whether autograd has nothing against the tensor, asked only where no code of the program's can run. */
static int verdict_is_good(Walker *walker, PyObject *node, PyObject *name)
{
    PyObject *attribute = walker->alone ? unpacked_name(name) : NULL;
    PyObject *tensor = attribute == NULL ? NULL : PyObject_GetAttr(node, attribute);
    Py_XDECREF(tensor);
    return tensor != NULL;
}

static inline int times(long long *product, long long factor)
{
    return __builtin_mul_overflow(*product, factor, product) ? -1 : 0;
}

/* Elements, and how many lie between the first and the last, both included. -1: more than a number can tell, or raised. */
static int measure(PyObject *tensor, PyObject *size, long long *elements, long long *extent)
{
    Py_ssize_t count = PyTuple_GET_SIZE(size);
    *elements = *extent = 1;
    for (Py_ssize_t at = 0; at < count; at++) {
        long long each = PyLong_AsLongLong(PyTuple_GET_ITEM(size, at));
        if (each == -1 && PyErr_Occurred())
            return -1;
        if (times(elements, each) < 0)
            return -1;
    }
    if (*elements == 0) {
        *extent = 0;
        return 0;
    }
    PyObject *contiguous = PyObject_CallOneArg(k_is_contiguous, tensor);
    if (contiguous == NULL)
        return -1;
    Py_DECREF(contiguous);
    if (contiguous == Py_True) {
        *extent = *elements;
        return 0;
    }
    PyObject *stride = PyObject_CallOneArg(k_stride, tensor);
    if (stride == NULL || !PyTuple_Check(stride) || PyTuple_GET_SIZE(stride) != count) {
        Py_XDECREF(stride);
        return -1;
    }
    int counted = 0;
    for (Py_ssize_t at = 0; counted == 0 && at < count; at++) {
        long long steps = PyLong_AsLongLong(PyTuple_GET_ITEM(size, at)) - 1;
        counted = times(&steps, PyLong_AsLongLong(PyTuple_GET_ITEM(stride, at)));
        if (__builtin_add_overflow(*extent, steps, extent))
            counted = -1;
    }
    Py_DECREF(stride);
    return PyErr_Occurred() ? -1 : counted;
}

/* (name, bytes of a number) of a tensor's dtype: a borrowed reference. */
static PyObject *named_dtype(Walker *walker, PyObject *tensor)
{
    PyObject *dtype = GET(get_dtype, tensor);
    if (dtype == NULL)
        return NULL;
    PyObject *named = PyDict_GetItemWithError(walker->dtypes, dtype);
    if (named == NULL && !PyErr_Occurred()) {
        collector_back(walker);
        Py_XDECREF(PyObject_CallMethodOneArg(walker->saved, s__named, dtype));
        collector_off(walker);
        named = PyErr_Occurred() ? NULL : PyDict_GetItemWithError(walker->dtypes, dtype);
    }
    Py_DECREF(dtype);
    return named != NULL && PyTuple_CheckExact(named) && PyTuple_GET_SIZE(named) == 2 ? named : NULL;
}

/* A tuple of those sizes, each kept once: a borrowed reference. */
static PyObject *kept_shape(Walker *walker, PyObject *size)
{
    PyObject *shape = PyDict_GetItemWithError(walker->shapes, size);
    if (shape != NULL || PyErr_Occurred())
        return shape;
    PyObject *plain = PyTuple_GetSlice(size, 0, PyTuple_GET_SIZE(size));
    if (plain != NULL && !PyTuple_CheckExact(plain))
        Py_SETREF(plain, PySequence_Tuple(plain));
    if (plain == NULL)
        return NULL;
    shape = PyDict_SetDefault(walker->shapes, plain, plain);
    Py_DECREF(plain);
    return shape;
}

/* SavedTensors._plain: the record of a tensor that a node saved; NULL where it is unusual, or something raised. */
static PyObject *plain_record(Walker *walker, PyObject *node, PyObject *name, PyObject *tensor)
{
    PyObject *record = NULL, *key = NULL, *version = NULL, *address = NULL, *storage = NULL, *size = NULL, *flag = NULL;
    PyObject *offset = NULL, *bytes = NULL, *length = NULL, *device = NULL, *number, *met, *named, *shape;
    PyObject *entry = entry_of(walker->by_address, tensor);
    if (entry == NULL && PyErr_Occurred())
        return NULL;
    number = entry == NULL ? minus_one : SLOT(entry, slot_tensor);
    Py_XINCREF(number);
    Py_XDECREF(entry);
    if (number == NULL)
        return NULL;
    if (number != minus_one) {
        PyObject *told = (key = PyTuple_Pack(2, name, number)) == NULL ? NULL : PyDict_GetItemWithError(walker->told, key);
        if (told != NULL)
            record = Py_NewRef(told);
        if (told != NULL || PyErr_Occurred())
            goto done;
    }
    if ((address = PyObject_CallOneArg(k_storage_address, tensor)) == NULL ||
        (version = GET(get_version, tensor)) == NULL)
        goto done;
    collector_back(walker); /* Of memory that was not met before Python may be told. */
    storage = storage_at(walker->registry, walker->storages, address, tensor);
    collector_off(walker);
    if (storage == NULL)
        goto done;
    flag = GET(get_symbolic, tensor);
    Py_XDECREF(flag);
    if (flag != Py_False || PyDict_Contains(walker->moves, storage) != 0)
        goto done;
    if ((named = named_dtype(walker, tensor)) == NULL || (size = GET(get_shape, tensor)) == NULL || !PyTuple_Check(size))
        goto done;
    long long item = PyLong_AsLongLong(PyTuple_GET_ITEM(named, 1)), elements, extent;
    PyObject *begin = PyObject_CallOneArg(k_storage_offset, tensor);
    if (begin == NULL)
        goto done;
    long long first = PyLong_AsLongLong(begin);
    Py_DECREF(begin);
    if (PyErr_Occurred() || measure(tensor, size, &elements, &extent) < 0 || times(&first, item) < 0 ||
        times(&elements, item) < 0 || times(&extent, item) < 0)
        goto done;
    offset = PyLong_FromLongLong(first);
    if (offset == NULL || (bytes = PyLong_FromLongLong(elements)) == NULL || (length = PyLong_FromLongLong(extent)) == NULL)
        goto done;
    flag = GET(get_is_cpu, tensor);
    Py_XDECREF(flag);
    if (flag == NULL)
        goto done;
    if (flag == Py_True)
        device = Py_NewRef(s_cpu);
    else {
        collector_back(walker);
        device = PyObject_CallOneArg(k_place_of, tensor);
        collector_off(walker);
    }
    if (device == NULL)
        goto done;
    met = PyDict_GetItemWithError(walker->first, storage);
    if (met == NULL && PyErr_Occurred())
        goto done;
    long long now = PyLong_AsLongLong(version);
    if ((met == NULL || met == Py_None) && now == 0)
        met = zero; /* A counter that has not moved yet had not then either. */
    if ((shape = kept_shape(walker, size)) == NULL)
        goto done;
    int asked = met == NULL || met == Py_None || PyLong_AsLongLong(met) != now;
    if (asked) {
        if (!verdict_is_good(walker, node, name))
            goto done;
        met = version;
    }
    PyObject *fields[] = {name,    number, shape,  PyTuple_GET_ITEM(named, 0), device, bytes, storage, offset, length,
                          s_valid, met,    version, no_text};
    record = PyObject_Vectorcall(k_saved_type, fields, sizeof fields / sizeof *fields, NULL);
    if (record != NULL && key != NULL && !asked && PyDict_SetItem(walker->told, key, record) < 0)
        Py_CLEAR(record);
done:
    Py_DECREF(number);
    Py_XDECREF(key); Py_XDECREF(version); Py_XDECREF(address); Py_XDECREF(storage); Py_XDECREF(size);
    Py_XDECREF(offset); Py_XDECREF(bytes); Py_XDECREF(length); Py_XDECREF(device);
    return record;
}

/* One saved tensor of a node, added to the list; -1 where it is unusual, or something raised. */
static int read_one(Walker *walker, PyObject *node, PyObject *attribute, PyObject *name, PyObject *into)
{
    if (PySet_Contains(k_statistics, name) != 0)
        return -1;
    PyObject *raw = PyObject_GetAttr(node, attribute);
    if (raw == NULL || PyTuple_Check(raw) || PyList_Check(raw)) {
        Py_XDECREF(raw);
        return -1;
    }
    PyObject *tensor = PyObject_GetAttr(raw, s_data), *hook = tensor == NULL ? NULL : PyObject_GetAttr(raw, s_unpack_hook);
    Py_DECREF(raw);
    Py_XDECREF(hook);
    int status = -1;
    if (hook == Py_None && tensor == Py_None)
        status = walker->late ? -1 : 0;
    else if (hook == Py_None && is_plain(tensor)) {
        PyObject *record = plain_record(walker, node, name, tensor);
        status = record == NULL ? -1 : PyList_Append(into, record);
        Py_XDECREF(record);
    }
    Py_XDECREF(tensor);
    return status;
}

/* SavedTensors.of */
PyObject *saved_by(Walker *walker, PyObject *node, PyObject *plan)
{
    if (plan != NULL && PyTuple_GET_SIZE(plan) == 0)
        return Py_NewRef(no_items);
    long op = PyLong_AsLong(walker->op);
    if (plan != NULL && op >= 0 && !walker->aliased) {
        PyObject *list = PyList_New(0);
        if (list == NULL)
            return NULL;
        Py_ssize_t at = 0, count = PyTuple_GET_SIZE(plan);
        for (; at < count; at++) {
            PyObject *pair = PyTuple_GET_ITEM(plan, at);
            if (read_one(walker, node, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), list) < 0)
                break;
        }
        PyObject *saved = at == count ? PyList_AsTuple(list) : NULL;
        Py_DECREF(list);
        if (saved != NULL || !let_go())
            return saved;
    }
    PyObject *made = PyTuple_Pack(2, walker->op, walker->position);
    collector_back(walker);
    PyObject *saved = made == NULL ? NULL : PyObject_CallMethodObjArgs(walker->saved, s_of, node, made, NULL);
    collector_off(walker);
    Py_XDECREF(made);
    return saved;
}
