/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tags for Python: what a thread is at work for, in the memory that sdk/c/timesink.h gives it, for a recorder outside of the process
 * to read.
 *
 * Which tags there are is a context variable's value, so that each task of asyncio has its own; what the thread shows is set from it
 * where a tag begins or ends, and where a task that is followed goes on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include "timesink.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "Tags are read on x86-64 Linux only"
#endif

/* A path of tags; never changes. */
typedef struct Tags {
	PyObject_VAR_HEAD
	struct Tags *outer; /* NULL: none */
	uint64_t current; /* as of timesink_tags */
	char path[1];
} Tags;

/* Tags from where this was entered up to its end. */
typedef struct {
	PyObject_HEAD
	PyObject *text; /* NULL: of tags that were resumed */
	PyObject *inner, *outer; /* what the context has from its beginning on, and had before; NULL: it has not begun, or has ended */
} Tag;

/* A coroutine that shows the tags of its context while it runs. */
typedef struct {
	PyObject_HEAD
	PyObject *inner;
} Followed;

/* What a thread showed. */
typedef struct {
	uint64_t current;
	char path[TIMESINK_TAG_BYTES];
} Held;

static PyTypeObject TagsType, TagType, FollowedType;
static PyObject *variable, *send_name, *throw_name, *close_name;

static uint32_t length_of(uint64_t current)
{
	uint32_t length = current & 0xffff;

	return length < TIMESINK_TAG_BYTES ? length : TIMESINK_TAG_BYTES;
}

/* ---------------------------------------------------------------- what a thread shows */

static void show_path(timesink_tags *tags, uint64_t current, const char *path)
{
	if (tags->current == current)
		return;
	tags->current = 0;
	TIMESINK_TAG_BARRIER();
	memcpy(tags->path, path, length_of(current));
	TIMESINK_TAG_BARRIER();
	tags->current = current;
	TIMESINK_TAG_BARRIER();
}

static void show(PyObject *value)
{
	int has = value && Py_IS_TYPE(value, &TagsType);
	timesink_tags *tags = has ? timesink_tags_here() : timesink_tags_had();

	if (tags)
		show_path(tags, has ? ((Tags *)value)->current : 0, has ? ((Tags *)value)->path : "");
}

/* The tags of this context: a new reference; NULL without an error if there are none, with one if that failed. */
static PyObject *tags_of_context(void)
{
	PyObject *value = NULL;

	if (PyContextVar_Get(variable, NULL, &value) < 0)
		return NULL;
	if (value && !Py_IS_TYPE(value, &TagsType))
		Py_CLEAR(value);
	return value;
}

static int show_context(void)
{
	PyObject *value = tags_of_context();

	if (!value && PyErr_Occurred())
		return -1;
	show(value);
	Py_XDECREF(value);
	return 0;
}

/* ---------------------------------------------------------------- paths */

static PyObject *path_of(Tags *self, PyObject *unused)
{
	(void)unused;
	return PyUnicode_DecodeUTF8(self->path, length_of(self->current), "replace");
}

static PyObject *show_tags(Tags *self)
{
	PyObject *path = path_of(self, NULL), *shown;

	if (!path)
		return NULL;
	shown = PyUnicode_FromFormat("<tags %R>", path);
	Py_DECREF(path);
	return shown;
}

/* Those around it go with it, one by one: there may be more than the stack has room for. */
static void tags_dealloc(Tags *self)
{
	Tags *outer = self->outer, *next;

	PyObject_Free(self);
	for (; outer; outer = next) {
		next = NULL;
		if (Py_REFCNT(outer) == 1) {
			next = outer->outer;
			outer->outer = NULL;
		}
		Py_DECREF(outer);
	}
}

static PyMethodDef tags_methods[] = {
	{ "path", (PyCFunction)path_of, METH_NOARGS, "The path, with a slash between its tags." },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject TagsType = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "timesink_tags.Tags",
	.tp_basicsize = offsetof(Tags, path),
	.tp_itemsize = 1,
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "Tags that were captured, for resume().",
	.tp_dealloc = (destructor)tags_dealloc,
	.tp_repr = (reprfunc)show_tags,
	.tp_methods = tags_methods,
};

/* A tag within others. */
static PyObject *joined(Tags *outer, PyObject *text)
{
	char path[TIMESINK_TAG_BYTES];
	const char *utf8 = PyUnicode_AsUTF8(text);
	uint64_t current = outer ? outer->current : 0;
	Tags *tags;

	if (!utf8)
		return NULL;
	if (outer)
		memcpy(path, outer->path, length_of(current));
	current = timesink_tag_join(path, current, utf8);
	tags = PyObject_NewVar(Tags, &TagsType, length_of(current));
	if (!tags)
		return NULL;
	Py_XINCREF(outer);
	tags->outer = outer;
	tags->current = current;
	memcpy(tags->path, path, length_of(current));
	return (PyObject *)tags;
}

/* ---------------------------------------------------------------- tags */

static PyObject *new_tag(PyObject *text)
{
	Tag *self = PyObject_New(Tag, &TagType);

	if (!self)
		return NULL;
	Py_XINCREF(text);
	self->text = text;
	self->inner = self->outer = NULL;
	return (PyObject *)self;
}

static PyObject *tag_from(PyObject *text)
{
	if (!PyUnicode_Check(text))
		return PyErr_Format(PyExc_TypeError, "a tag is a text, not %.100s", Py_TYPE(text)->tp_name);
	return new_tag(text);
}

static PyObject *tag_vectorcall(PyObject *type, PyObject *const *arguments, size_t count, PyObject *names)
{
	(void)type;
	if (PyVectorcall_NARGS(count) != 1 || (names && PyTuple_GET_SIZE(names)))
		return PyErr_Format(PyExc_TypeError, "tag() takes one text");
	return tag_from(arguments[0]);
}

static PyObject *tag_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
	PyObject *text;

	(void)type;
	if ((names && PyDict_GET_SIZE(names)) || !PyArg_UnpackTuple(arguments, "tag", 1, 1, &text))
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "tag() takes one text");
	return tag_from(text);
}

static void tag_dealloc(Tag *self)
{
	Py_XDECREF(self->text);
	Py_XDECREF(self->inner);
	Py_XDECREF(self->outer);
	PyObject_Free(self);
}

/* The context and the thread have these tags from here on. */
static int set(PyObject *value)
{
	PyObject *token = PyContextVar_Set(variable, value);

	if (!token)
		return -1;
	Py_DECREF(token);
	show(value);
	return 0;
}

/* The same, and up to the tag's end. Takes both. */
static int begin(Tag *self, PyObject *inner, PyObject *outer)
{
	self->inner = inner;
	self->outer = outer;
	return set(inner);
}

static PyObject *none_for_null(PyObject *value)
{
	if (!value)
		Py_INCREF(Py_None);
	return value ? value : Py_None;
}

static PyObject *tag_enter(Tag *self, PyObject *unused)
{
	PyObject *outer, *inner;

	(void)unused;
	if (self->text && self->inner)
		return PyErr_Format(PyExc_RuntimeError, "this tag has begun already; tag() makes one for each block");
	if (self->text) {
		outer = tags_of_context();
		if (!outer && PyErr_Occurred())
			return NULL;
		inner = joined((Tags *)outer, self->text);
		if (!inner) {
			Py_XDECREF(outer);
			return NULL;
		}
		if (begin(self, inner, none_for_null(outer)))
			return NULL;
	}
	Py_INCREF(self);
	return (PyObject *)self;
}

/*
 * The tags from before it, if it is still one of those that the context has: a generator that was left within a tag may be closed
 * later, or elsewhere.
 */
static PyObject *tag_exit(Tag *self, PyObject *const *arguments, Py_ssize_t count)
{
	PyObject *current = tags_of_context(), *inner = self->inner, *outer = self->outer;
	int failed = !current && PyErr_Occurred(), has = inner == Py_None;
	Tags *each;

	(void)arguments;
	(void)count;
	for (each = (Tags *)current; each && !has; each = each->outer)
		has = inner == (PyObject *)each;
	Py_XDECREF(current);
	self->inner = self->outer = NULL;
	if (!failed && inner && has)
		failed = set(outer);
	Py_XDECREF(inner);
	Py_XDECREF(outer);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *tag_call(Tag *self, PyObject *arguments, PyObject *names)
{
	PyObject *function, *package, *decorated;

	if ((names && PyDict_GET_SIZE(names)) || !PyArg_UnpackTuple(arguments, "tag", 1, 1, &function))
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a tag decorates one function");
	if (!self->text)
		return PyErr_Format(PyExc_TypeError, "what was resumed decorates nothing");
	package = PyImport_ImportModule("timesink_tags");
	if (!package)
		return NULL;
	decorated = PyObject_CallMethod(package, "_decorated", "OO", self->text, function);
	Py_DECREF(package);
	return decorated;
}

static PyMethodDef tag_methods[] = {
	{ "__enter__", (PyCFunction)tag_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))tag_exit, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject TagType = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "timesink_tags.tag",
	.tp_basicsize = sizeof(Tag),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "tag(text): a tag up to the end of a with block, or of the function that it decorates.",
	.tp_new = tag_new,
	.tp_dealloc = (destructor)tag_dealloc,
	.tp_call = (ternaryfunc)tag_call,
	.tp_methods = tag_methods,
	.tp_vectorcall = tag_vectorcall,
};

static PyObject *capture(PyObject *module, PyObject *unused)
{
	PyObject *value = tags_of_context();

	(void)module;
	(void)unused;
	if (!value && !PyErr_Occurred())
		Py_RETURN_NONE;
	return value;
}

static PyObject *resume(PyObject *module, PyObject *held)
{
	PyObject *self, *outer;

	(void)module;
	if (held != Py_None && !Py_IS_TYPE(held, &TagsType))
		return PyErr_Format(PyExc_TypeError, "resume() takes what capture() gave");
	outer = tags_of_context();
	if (!outer && PyErr_Occurred())
		return NULL;
	outer = none_for_null(outer);
	self = new_tag(NULL);
	if (!self) {
		Py_DECREF(outer);
		return NULL;
	}
	Py_INCREF(held);
	if (begin((Tag *)self, held, outer))
		Py_CLEAR(self);
	return self;
}

/* ---------------------------------------------------------------- coroutines */

/* Shows the tags of the context that a step begins in, and what was shown before when it has ended. */
static int step_begins(Held *held)
{
	timesink_tags *tags = timesink_tags_had();

	held->current = tags ? tags->current : 0;
	if (held->current)
		memcpy(held->path, tags->path, length_of(held->current));
	return show_context();
}

static void step_ends(const Held *held)
{
	timesink_tags *tags = timesink_tags_had();

	if (tags)
		show_path(tags, held->current, held->path);
}

static PyObject *followed_send(Followed *self, PyObject *value)
{
	PyObject *result;
	Held held;

	if (step_begins(&held))
		return NULL;
	result = PyObject_CallMethodObjArgs(self->inner, send_name, value, NULL);
	step_ends(&held);
	return result;
}

static PyObject *followed_next(Followed *self)
{
	return followed_send(self, Py_None);
}

static PyObject *step_by(Followed *self, PyObject *name, PyObject *arguments)
{
	PyObject *method = PyObject_GetAttr(self->inner, name), *result;
	Held held;

	if (!method || step_begins(&held)) {
		Py_XDECREF(method);
		return NULL;
	}
	result = PyObject_CallObject(method, arguments);
	step_ends(&held);
	Py_DECREF(method);
	return result;
}

static PyObject *followed_throw(Followed *self, PyObject *arguments)
{
	return step_by(self, throw_name, arguments);
}

static PyObject *followed_close(Followed *self, PyObject *unused)
{
	(void)unused;
	return step_by(self, close_name, NULL);
}

static PyObject *followed_await(PyObject *self)
{
	Py_INCREF(self);
	return self;
}

/* What it says of itself, where it is and what it waits for. */
static PyObject *followed_getattr(Followed *self, PyObject *name)
{
	PyObject *own = PyObject_GenericGetAttr((PyObject *)self, name);

	if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return own;
	PyErr_Clear();
	return PyObject_GetAttr(self->inner, name);
}

static PyObject *followed_repr(Followed *self)
{
	return PyUnicode_FromFormat("<followed %R>", self->inner);
}

static int followed_traverse(Followed *self, visitproc visit, void *arg)
{
	Py_VISIT(self->inner);
	return 0;
}

static int followed_clear(Followed *self)
{
	Py_CLEAR(self->inner);
	return 0;
}

static void followed_dealloc(Followed *self)
{
	PyObject_GC_UnTrack(self);
	followed_clear(self);
	PyObject_GC_Del(self);
}

#if PY_VERSION_HEX >= 0x030a0000
static PySendResult followed_step(Followed *self, PyObject *value, PyObject **result)
{
	PySendResult how;
	Held held;

	*result = NULL;
	if (step_begins(&held))
		return PYGEN_ERROR;
	how = PyIter_Send(self->inner, value, result);
	step_ends(&held);
	return how;
}
#endif

static PyAsyncMethods followed_async = {
	.am_await = followed_await,
#if PY_VERSION_HEX >= 0x030a0000
	.am_send = (sendfunc)followed_step,
#endif
};

static PyMethodDef followed_methods[] = {
	{ "send", (PyCFunction)followed_send, METH_O, NULL },
	{ "throw", (PyCFunction)followed_throw, METH_VARARGS, NULL },
	{ "close", (PyCFunction)followed_close, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject FollowedType = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "timesink_tags.Followed",
	.tp_basicsize = sizeof(Followed),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.tp_doc = "A coroutine whose tags are shown while it runs.",
	.tp_dealloc = (destructor)followed_dealloc,
	.tp_traverse = (traverseproc)followed_traverse,
	.tp_clear = (inquiry)followed_clear,
	.tp_as_async = &followed_async,
	.tp_iter = followed_await,
	.tp_iternext = (iternextfunc)followed_next,
	.tp_getattro = (getattrofunc)followed_getattr,
	.tp_repr = (reprfunc)followed_repr,
	.tp_methods = followed_methods,
};

static PyObject *stepped(PyObject *module, PyObject *inner)
{
	Followed *self;

	(void)module;
	if (Py_IS_TYPE(inner, &FollowedType)) {
		Py_INCREF(inner);
		return inner;
	}
	self = PyObject_GC_New(Followed, &FollowedType);
	if (!self)
		return NULL;
	Py_INCREF(inner);
	self->inner = inner;
	PyObject_GC_Track(self);
	return (PyObject *)self;
}

/* ---------------------------------------------------------------- the module */

/* What this thread shows, for tests: as a recorder reads it. */
static PyObject *shown(PyObject *module, PyObject *unused)
{
	timesink_tags *tags = timesink_tags_had();

	(void)module;
	(void)unused;
	if (!tags || !tags->current)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(tags->path, length_of(tags->current), "replace");
}

static PyMethodDef functions[] = {
	{ "capture", capture, METH_NOARGS, "The tags of this context, to be resumed on any thread; None: it has none." },
	{ "resume", resume, METH_O,
	  "resume(held): this context and thread have these tags from here on, and no others; with `with`, up to the block's end." },
	{ "stepped", stepped, METH_O, "A coroutine whose tags are shown while it runs." },
	{ "shown", shown, METH_NOARGS, "The path that this thread shows to a recorder; None: no tag." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "timesink_tags._tags",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__tags(void)
{
	PyObject *module;

	if (PyType_Ready(&TagsType) || PyType_Ready(&TagType) || PyType_Ready(&FollowedType))
		return NULL;
	send_name = PyUnicode_InternFromString("send");
	throw_name = PyUnicode_InternFromString("throw");
	close_name = PyUnicode_InternFromString("close");
	variable = PyContextVar_New("timesink_tags", NULL);
	module = PyModule_Create(&definition);
	if (!send_name || !throw_name || !close_name || !variable || !module)
		return NULL;
	Py_INCREF(&TagType);
	Py_INCREF(&TagsType);
	if (PyModule_AddObject(module, "tag", (PyObject *)&TagType) || PyModule_AddObject(module, "Tags", (PyObject *)&TagsType))
		return NULL;
	return module;
}
