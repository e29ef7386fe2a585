/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * What the probes tell user space: the contract between BPF and Rust. Rust's side is generated
 * from this file (bindgen, in build.rs). Fixed-width members only, no hidden padding.
 */
#ifndef TIMESINK_EVENTS_H
#define TIMESINK_EVENTS_H

#ifndef TIMESINK_KERNEL_H
#include <linux/types.h>
#endif

/* Kinds of event. Also the index of the counter of those that were lost. */
enum ts_kind {
	TS_TURN = 1, /* a thread is about to run again: its last run, wait and time ready */
	TS_WAIT = 2, /* the same, for a wait at or above the threshold, with particulars */
	TS_RESULT = 3, /* how the call with that long wait ended */
	TS_QUEUE = 4, /* who ran while a thread was ready for long */
	TS_CALLS = 5, /* a batch of timed calls */
	TS_OBJECT = 6, /* a file, pipe or socket seen for the first time */
	TS_LOOKUP = 7, /* a path given to a call */
	TS_START = 8, /* a thread's recorded life begins */
	TS_EXEC = 9, /* a process executes */
	TS_EXIT = 10, /* a thread calls exit */
	TS_END = 11, /* a thread's last switch, or the end of the recording */
	TS_REQUEST = 12, /* a block request is done */
	TS_STACK = 13, /* a thread's stack: of a sample, a wait, or who ended one */
	TS_TURNS = 14, /* a batch of turns; those lost with it count as turns */
	TS_SEEN = 15, /* made by user space: a stack, unwound */
	TS_NODE = 16, /* made by user space: one more frame of a stack */
	TS_INTERPRETED = 17, /* the interpreter's own frames of the stack that follows */
	TS_CODE = 18, /* a code object of Python seen for the first time */
	TS_SCRIPT = 19, /* where in its scripts the bash of the stack that follows is */
	TS_SITE = 20, /* which call the stack of the same moment is of */
	TS_TASK = 21, /* a thread is at work for another task */
	TS_TAG = 22, /* a thread has another tag */
	TS_TAG_TEXT = 23, /* a tag seen for the first time */
	TS_FUNCTION = 24, /* a function of an interpreter seen for the first time */
	TS_LEFT = 25, /* a place where a goroutine was left, seen for the first time */
	TS_SIGHT = 26, /* made by user space: a goroutine that was looked at in the memory of its process, as a ts_task */
	TS_KINDS = 27,
	/* Counted like lost events, but not events. */
	TS_NO_STORAGE = 27, /* a thread could not be tracked for want of memory */
	TS_NOT_FOLLOWED = 28, /* a process was not followed: there were too many */
	TS_COUNTERS = 29,
};

struct ts_head {
	__u8 kind; /* enum ts_kind */
	__u8 pad;
	__u16 cpu;
	__u32 thread; /* our number for it */
	__u64 t; /* when; turns and waits: when it ran again */
};
_Static_assert(sizeof(struct ts_head) == 16, "head");

/* How a run ended, in ts_turn.how. */
enum ts_how {
	TS_PREEMPTED = 1 << 0, /* still wanted the processor */
	TS_THROTTLED = 1 << 1, /* its cgroup's quota ran out */
	TS_STOPPED = 1 << 2, /* stopped or traced */
	TS_IOWAIT = 1 << 3, /* the kernel counted it as waiting for I/O */
	TS_FIRST = 1 << 4, /* it has not run before */
	TS_EXITING = 1 << 5, /* after exit */
	TS_COMPAT_CALL = 1 << 6, /* a 32-bit call on a 64-bit kernel */
	TS_OPEN_END = 1 << 7, /* the recording ended first; t is that moment */
};

/* In whose context the wake happened, in ts_turn.wake. */
enum ts_wake {
	TS_WAKE_NONE = 0,
	TS_WAKE_TASK = 1,
	TS_WAKE_TIMER = 2, /* interrupt: a timer */
	TS_WAKE_BLOCK = 3, /* interrupt: a block request is done */
	TS_WAKE_NET = 4, /* interrupt: the network */
	TS_WAKE_IRQ = 5, /* interrupt: another */
};

/* What an object is, in ts_turn.object_kind and elsewhere. */
enum ts_object_kind {
	TS_O_NONE = 0,
	TS_O_FILE = 1,
	TS_O_DIR = 2,
	TS_O_CHAR = 3,
	TS_O_BLOCK = 4,
	TS_O_PIPE = 5,
	TS_O_SOCKET = 6,
	TS_O_ANON = 7, /* eventfd, epoll, timerfd, ... : told apart by name */
	TS_O_FUTEX = 8,
	TS_O_OTHER = 9,
};

/*
 * From t_out on the thread did not run; until then it had been running since t_run. t_wake is when
 * somebody ended its wait, 0 if it never waited. (key, device) name the object of the call that it
 * waited in. tracer_ns is our own time in the run t_run..t_out.
 */
struct ts_turn {
	struct ts_head head;
	__u64 t_run;
	__u64 t_out;
	__u64 t_wake;
	__u64 key;
	__u32 device;
	__u32 waker;
	__u32 tracer_ns;
	__u32 occupant; /* who ran here until now, 0: nobody */
	__u32 occupant_ns; /* and for how long of the time ready */
	__s16 call; /* -1: not in a call */
	__u8 how;
	__u8 wake;
	__u8 object_kind;
	__u8 waker_sends; /* the waker was inside a call that sends */
	__u8 futex_operation;
	__u8 futex_contended; /* the value waited on is 2, as a mutex with waiters has it */
	__u8 dispatched; /* the time ready was that of switching to it; see scheduling.bpf.c */
	__u8 polled; /* POLLIN or POLLOUT: a poll of one descriptor, the object, for this and nothing else */
	__u16 taken; /* of that run, in TS_TAKEN ns: the kernel counts it as nobody's; what is left over comes later */
};
_Static_assert(sizeof(struct ts_turn) == 80, "turn");

#define TS_TAKEN 16384

#define TS_GATHER 16

/* Turns of one processor, of whatever threads, handed over together. */
struct ts_turns {
	struct ts_head head;
	__u32 count;
	__u32 pad;
	struct ts_turn turn[TS_GATHER];
};
_Static_assert(sizeof(struct ts_turns) == 24 + 80 * TS_GATHER, "turns");

/* What a processor has gathered; user space reads the last of it itself. */
struct ts_gathered {
	struct ts_turns event;
	__u64 since; /* when the first of them was put in */
	__u64 busy; /* being changed: an interrupt must not touch it */
	__u64 switches; /* to threads that are recorded */
};
_Static_assert(sizeof(struct ts_gathered) == 24 + 80 * TS_GATHER + 24, "gathered");

#define TS_FRAMES 24

struct ts_wait {
	struct ts_turn turn;
	__u64 args[6];
	__u64 asked_ns; /* time-out or sleep asked for, ~0: none */
	__u32 owner; /* futex: who holds it, 0: not told */
	__u32 frames; /* how many of the following are set */
	__u64 frame[TS_FRAMES]; /* kernel addresses, innermost first */
	char waker_name[16];
};
_Static_assert(sizeof(struct ts_wait) == 80 + 48 + 8 + 8 + 8 * TS_FRAMES + 16, "wait");

struct ts_result {
	struct ts_head head;
	__u64 t_out; /* of the wait this is about */
	__s64 result;
	__u64 key; /* of the object found ready */
	__u64 sent_key; /* of the socket that something was last sent on since the wait before; 0: nothing was */
	__u32 device;
	__u32 sent_device;
	__s32 fd; /* found ready, -1: not told */
	__u32 pad;
};
_Static_assert(sizeof(struct ts_result) == 64, "result");

#define TS_OCCUPANTS 8

struct ts_occupant {
	__u32 tid;
	__u32 ns;
	char name[16];
};
struct ts_queue {
	struct ts_head head;
	__u64 t_ready; /* start of the time ready */
	/* The latest first; 0 ns: did not run in that time; tid 0: the processor was idle. */
	struct ts_occupant who[TS_OCCUPANTS];
};
_Static_assert(sizeof(struct ts_queue) == 24 + 24 * TS_OCCUPANTS, "queue");

#define TS_BATCH 14

struct ts_call {
	__u64 key;
	__u32 device;
	__u32 ns; /* bit 31 set: in units of 1,024 ns */
	__s32 result;
	__s16 call;
	__u8 object_kind;
	__u8 compat;
};
_Static_assert(sizeof(struct ts_call) == 24, "call");

struct ts_calls {
	struct ts_head head;
	__u32 count;
	__u32 pad;
	struct ts_call call[TS_BATCH];
};
_Static_assert(sizeof(struct ts_calls) == 24 + 24 * TS_BATCH, "calls");

#define TS_PATH 512

struct ts_object {
	struct ts_head head;
	__u64 key;
	__u64 inode;
	__u64 size;
	__u32 device;
	__u32 rdev;
	__u16 mode;
	__u16 family; /* sockets */
	__u16 sock_type;
	__u16 protocol;
	__u16 local_port;
	__u16 remote_port;
	__u32 pad;
	__u8 local[16];
	__u8 remote[16];
	__u64 peer; /* unix sockets: inode of the peer */
	char filesystem[16];
	__u32 truncated; /* the path was longer than we walk */
	__u32 path_length;
	char path[TS_PATH]; /* components from the last to the first, each ended by NUL */
};
_Static_assert(sizeof(struct ts_object) == 128 + TS_PATH, "object");

struct ts_lookup {
	struct ts_head head;
	__s32 result;
	__s16 call;
	__u8 compat;
	__u8 pad;
	__u32 length;
	__u32 pad2;
	char path[256];
};
_Static_assert(sizeof(struct ts_lookup) == 32 + 256, "lookup");

enum ts_start_how {
	TS_START_FORK = 0, /* a new process */
	TS_START_VFORK = 1,
	TS_START_THREAD = 2,
	TS_START_SEED = 3, /* alive when the recording began */
};

/* A call whose stack was taken, because it was the 1st, 2nd, 4th, 8th, ... of its thread, kind and object. */
struct ts_site {
	struct ts_head head; /* t: of the stack, too, and of the look-up, if it was one */
	__u64 key;
	__u32 device;
	__u32 occurrence;
	__s32 error; /* 0: it succeeded */
	__s16 call;
	__u8 object_kind;
	__u8 compat;
};
_Static_assert(sizeof(struct ts_site) == 40, "site");

struct ts_start {
	struct ts_head head;
	__u32 tid;
	__u32 pid;
	__u32 parent; /* our number of the thread that made it, 0: none of ours */
	__u32 parent_pid;
	__u64 call_since; /* when the parent entered the call, 0: not timed */
	__u64 resident; /* bytes, of the parent at a fork */
	__u64 start_time; /* the kernel's */
	__u32 how;
	__u32 uid;
	char name[16];
};
_Static_assert(sizeof(struct ts_start) == 16 + 16 + 24 + 8 + 16, "start");

#define TS_ARGUMENTS 480

struct ts_exec {
	struct ts_head head;
	__u64 call_since;
	__u64 resident; /* of the new image, bytes */
	__u32 tid;
	__u32 old_tid;
	__u32 uid;
	__u32 arguments_length;
	char name[16];
	char executable[256];
	char arguments[TS_ARGUMENTS];
};
_Static_assert(sizeof(struct ts_exec) == 16 + 16 + 16 + 16 + 256 + TS_ARGUMENTS, "exec");

struct ts_exit {
	struct ts_head head;
	__u64 resident;
	__s32 code;
	__u32 last; /* the process's last thread */
};
_Static_assert(sizeof(struct ts_exit) == 32, "exit");

#define TS_ALLOWED 16

struct ts_end {
	struct ts_head head;
	__u64 t_run; /* start of its last run; one still alive: the same as the end */
	__u64 cpu_ns;
	__u64 ready_ns;
	__u64 wait_ns;
	__u64 tracer_ns;
	__u64 kernel_cpu_ns;
	__u64 kernel_ready_ns;
	__u64 user_ns;
	__u64 system_ns;
	__u64 samples_user;
	__u64 samples_kernel;
	__u64 voluntary;
	__u64 involuntary;
	__u64 migrations;
	__u64 faults_minor;
	__u64 faults_major;
	__u64 calls;
	__u64 wakes; /* times it was woken */
	__u64 reads; /* of files of any kind, as the kernel counts them; 0: it does not */
	__u64 writes;
	__u32 tid;
	__u32 pid;
	__u32 exit_code;
	__u32 alive;
	__u32 uid;
	__u32 run_tracer_ns; /* our time within its last run */
	__s32 nice;
	__u32 run_taken; /* of its last run, as in its turns */
	__u64 taken_ns; /* of its time on a processor: the kernel counts it as nobody's */
	__u64 stacks_ns; /* of tracer_ns: for samples and for stacks of calls */
	__u64 returns_ns; /* our time as calls returned, of those that were measured */
	__u64 returns; /* how many these are: one of TS_MEASURED_RETURNS */
	char name[16];
	__u32 policy; /* as sched_setscheduler(2) numbers them */
	__u32 realtime_priority;
	__u32 allowed_count; /* processors that it may use */
	__u32 pad;
	__u64 allowed[TS_ALLOWED]; /* which of the first ones, a bit for each; behind the last one that there is, anything */
};
_Static_assert(sizeof(struct ts_end) == 16 + 20 * 8 + 32 + 4 * 8 + 16 + 16 + 8 * TS_ALLOWED, "end");

struct ts_request {
	struct ts_head head;
	__u64 issued;
	__u64 sector;
	__u32 device;
	__u32 bytes;
	__u32 flags; /* operation in the low 8 bits */
	__u32 tid;
};
_Static_assert(sizeof(struct ts_request) == 48, "request");

enum ts_stack_of {
	TS_OF_SAMPLE = 1, /* the sampler found the thread on a processor */
	TS_OF_WAIT = 2, /* the thread waits */
	TS_OF_WAKER = 3, /* the thread ends another's wait */
	TS_OF_DELAY = 4, /* the thread loses the processor, and is ready */
	TS_OF_CALL = 5, /* the thread returns from a call that a ts_site of the same moment tells of */
};

/* In ts_stack.user. */
#define TS_HIT_USER 1 /* a sample that hit user space */
#define TS_EXECUTING 2 /* in execve: the memory may be the new program's, the registers the old one's */

#define TS_NO_GOROUTINE 4 /* on a stack of Go's scheduler, which has left the last goroutine */
#define TS_ONE_PLACE 8 /* of a wait whose call has one place to sleep in; without frames in the kernel it has those of its thread's last one */

#define TS_COPY 131072 /* at most */

/* A stack as it is found: kernel addresses, and a copy of the user stack for user space to unwind. */
struct ts_stack {
	struct ts_head head; /* t: of the sample or the call, or the t_out of the wait or the time ready */
	__u64 ip, sp, bp, di, bx; /* of user space; ip 0: the thread has no such side */
	__u64 r14, r15; /* where Go keeps its goroutine; PHP its call and what it executes */
	__u64 left_ip, left_sp; /* of the goroutine that a thread has left to work on its own stack; 0: none */
	__u64 python; /* a mark of the interpreter's own frames, or of where bash is in scripts; 0: it has none */
	__u64 java; /* a mark of the methods in its interpreted frames of Java or Node.js, or of its task of tokio; 0: it has none */
	__u64 beyond; /* what the second copy is of: that goroutine's stack, or the outermost part of the thread's */
	__u32 about; /* our number of the thread whose wait it is about, or its own */
	__u32 pid;
	__u32 length; /* of the copy */
	__u32 beyond_length; /* of the second copy, which comes after it */
	__u32 pad;
	__u8 what; /* enum ts_stack_of */
	__u8 repeated; /* these registers were seen before: no copy was made */
	__u8 user; /* TS_HIT_USER, TS_EXECUTING, TS_NO_GOROUTINE, TS_ONE_PLACE */
	__u8 frames; /* how many of the following are set */
	__u64 frame[TS_FRAMES]; /* kernel addresses, innermost first */
	__u8 copy[TS_COPY]; /* from sp up, and from beyond up; only as much as the lengths say is sent */
};
_Static_assert(sizeof(struct ts_stack) == 16 + 96 + 24 + 8 * TS_FRAMES + TS_COPY, "stack");

/* Java or Node.js: where the code of the interpreter is, and how far below the frame pointer its frames tell what they run. */
struct ts_java {
	__u64 start;
	__u64 again; /* the same code once more; else as the first */
	__u64 length;
	__u64 method;
	__u64 made; /* where the code is that it makes; none, if that has no length */
	__u64 made_length;
	__u64 position; /* where its frames have how far the method is; 0: that does not tell one stack from another */
};
_Static_assert(sizeof(struct ts_java) == 56, "java");

/* How CPython tells which frames its interpreter was entered with, in ts_python.kind. */
enum ts_python_kind {
	TS_PYTHON_OBJECTS = 1, /* until 3.10: with every one; each is an object */
	TS_PYTHON_ENTRIES = 2, /* 3.11: the frame says so */
	TS_PYTHON_SHIMS = 3, /* since 3.12: the next is a frame that is none */
};
#define TS_PYTHON_SHIM 3 /* whose such a frame is, from here up: FRAME_OWNED_BY_CSTACK, in 3.14 _INTERPRETER */

/* CPython as it is laid out in one process. The numbers are offsets in its structures. */
struct ts_python {
	__u64 runtime; /* the address of _PyRuntime */
	__u32 serial; /* what no other process has, but for those forked from it */
	__u32 version; /* 3.11: 0x30b */
	__u32 kind; /* enum ts_python_kind */
	__u32 interpreters;
	__u32 interpreter_next;
	__u32 threads;
	__u32 thread_next;
	__u32 thread_id;
	__u32 cframe; /* 0: the thread itself has the current frame */
	__u32 current_frame;
	__u32 frame_code;
	__u32 frame_previous;
	__u32 frame_at;
	__u32 frame_entry;
	__u32 at_shift; /* objects: what their count of instructions is shifted by */
	__u32 code_first_line;
	__u32 code_file;
	__u32 code_name;
	__u32 code_table;
	__u32 code_start;
	__u32 text_length;
	__u32 text_state;
	__u32 text_ascii;
	__u32 text_wide;
	__u32 bytes_length;
	__u32 bytes_start;
	__u32 coroutines; /* whether it has loaded asyncio; only since 3.11 */
	__u32 frame_owner;
	__u32 frame_locals;
	__u32 frame_stack; /* how many values are on it, with the locals; with stack_pointer where it ends */
	__u32 stack_pointer;
	__u32 generator_frame; /* of a generator or a coroutine */
	__u32 generator_state;
	__u32 pad;
	__u64 long_type; /* addresses of types */
	__u64 generator_type;
	__u64 coroutine_type;
};
_Static_assert(sizeof(struct ts_python) == 8 + 34 * 4 + 3 * 8, "python");

#define TS_INTERPRETER_FRAMES 256

struct ts_interpreter_frame {
	__u64 code; /* the id of a ts_code or a ts_function */
	__s32 at; /* of a ts_code: which of its bytes is executed; else the line, 0: not known */
	__u32 fresh; /* what it called last is not a frame of the same run of the interpreter */
};
struct ts_frames {
	struct ts_head head; /* as of the stack */
	__u64 python_thread; /* for the probes: where Python keeps what it knows of the thread */
	__u32 serial;
	__u16 count;
	__u8 what; /* as of the stack */
	__u8 cut; /* there are more */
	struct ts_interpreter_frame frame[TS_INTERPRETER_FRAMES]; /* innermost first; only as many as count says are sent */
};
_Static_assert(sizeof(struct ts_frames) == 32 + 16 * TS_INTERPRETER_FRAMES, "frames");

#define TS_TEXT 256

/* A text as Python keeps it. */
struct ts_text {
	__u32 length; /* bytes */
	__u32 wide; /* bytes a letter: 1, 2 or 4 */
	__u8 bytes[TS_TEXT];
};
_Static_assert(sizeof(struct ts_text) == 8 + TS_TEXT, "text");

#define TS_TABLE 4096

struct ts_code {
	struct ts_head head;
	__u64 id;
	__u32 version;
	__u32 first_line;
	__u32 length; /* of the table */
	__u32 pad;
	struct ts_text name;
	struct ts_text file;
	__u8 table[TS_TABLE]; /* which instructions are of which line; only as much as length says is sent */
};
_Static_assert(sizeof(struct ts_code) == 16 + 24 + 2 * (8 + TS_TEXT) + TS_TABLE, "code");

/* Whose interpreter it is. */
enum ts_interpreted {
	TS_PHP = 1,
	TS_RUBY = 2,
	TS_PERL = 3,
};

/* An interpreter as it is laid out in one process. All but the addresses are offsets in its structures, or sizes. */
struct ts_interpreter {
	__u64 state; /* where its list of calls is found; Ruby: in a thread's own memory, if `module` is not 0 */
	__u64 module; /* Ruby: where the number stands of the module whose memory of the thread that is; 1: it is the program */
	__u32 language; /* enum ts_interpreted */
	__u32 php_operations; /* of a function: where its operations are, how many there are, and its file */
	__u32 php_operation_count;
	__u32 php_file;
	__u32 ruby_frame; /* the size of a call */
	__u32 ruby_lines; /* of a method: its lines, and in the same way how many, and which instruction has which */
	__u32 ruby_line; /* the size of a line's entry */
	__u32 ruby_thread; /* of what is executed: its thread, and of that, who it is; 0: need not be looked at */
	__u32 ruby_thread_id;
	__u32 ruby_text; /* a short text: where it begins */
	__u32 perl_statement; /* of the interpreter: its current statement, and its stack */
	__u32 perl_stack;
	__u32 perl_package; /* of a package: what else there is of it; 0: behind its table */
	__u32 pad;
};
_Static_assert(sizeof(struct ts_interpreter) == 16 + 14 * 4, "interpreter");

/* A function of an interpreter. Texts that fill their room were longer. */
struct ts_function {
	struct ts_head head;
	__u64 id;
	__u32 language; /* enum ts_interpreted */
	__u32 kind; /* Perl: 1: the program, 2: a text or file that is evaluated; these have no name. Ruby: what its instructions are */
	char owner[128]; /* the class or package that it belongs to */
	char name[128];
	char file[256];
};
_Static_assert(sizeof(struct ts_function) == 32 + 512, "function");

/* Where a bash keeps what, in one process: addresses. */
struct ts_bash {
	__u64 line; /* of what is being expanded, or read */
	__u64 simple_line; /* of the last simple command */
	__u64 command; /* its last text */
	__u64 trap; /* which trap is being executed */
	__u64 variables; /* those that are not local */
};
_Static_assert(sizeof(struct ts_bash) == 40, "bash");

/* Go as it is laid out in one process: offsets in a goroutine, and in a thread. */
struct ts_go {
	__u32 number; /* which goroutine it is */
	__u32 parent; /* the number of the one that started it; 0: it is not kept */
	__u32 started_at; /* the place of the go statement */
	__u32 entry; /* its first function */
	__u32 current; /* of a thread: the goroutine that it works for */
	__u32 left_bp; /* the frame pointer that it was left with */
	__s64 tokio; /* where a thread keeps the number of its task of tokio, from where its FS register points; 0: it is Go */
	__u32 tagged; /* of tokio: the word before that says whether there is one */
	__u32 labels; /* where a goroutine has its labels */
};
_Static_assert(sizeof(struct ts_go) == 40, "go");

#define TS_LEFT_FRAMES 6
#define TS_TASK_NAME 48

/* Whose task it is. The code of a Python's is the id of a ts_code. */
enum ts_task_kind {
	TS_OF_GO = 1,
	TS_OF_PYTHON = 2,
	TS_OF_TOKIO = 3,
};

/* A thread is at work for another task than before. */
struct ts_task {
	struct ts_head head; /* t: since when, as far as is known */
	__u64 seen_before; /* when it was last seen at work for the one before; 0: for none */
	__u64 number; /* 0: for the runtime itself */
	__u64 parent; /* the number of the one that started it; 0: not known */
	__u64 started_at; /* the place in the code where it was started; 0: not known */
	__u64 entry; /* its first function */
	__u32 pid;
	__u32 node; /* made by user space: its first function under where it was started */
	/* Where the one before was left. Of Go: its innermost place and the mark of all (ts_left); of Python the innermost last. 0: no more is known. */
	__u64 left[TS_LEFT_FRAMES];
	__s32 left_place[TS_LEFT_FRAMES]; /* of Python: which of the bytes of that code */
	__u32 left_state; /* how that one was just then, as Go numbers that; 0: not known */
	__u32 left_node; /* made by user space, of where it was left */
	__u32 kind; /* enum ts_task_kind */
	char name[TS_TASK_NAME]; /* empty: it has none but its number */
	__u32 pad;
};
_Static_assert(sizeof(struct ts_task) == 200, "task");

#define TS_LEFT_PLACES 64 /* of the functions of a goroutine that is left, at most */

/* Where a goroutine was left, with all its callers: told once, afterwards its mark is enough. */
struct ts_left {
	struct ts_head head;
	__u64 mark;
	__u32 pid;
	__u16 count;
	__u16 whole; /* there are no more callers */
	__u64 place[TS_LEFT_PLACES]; /* innermost first; those behind `count` mean nothing */
};
_Static_assert(sizeof(struct ts_left) == 32 + 8 * TS_LEFT_PLACES, "left");

#define TS_TAG_LIBRARIES 7
#define TS_TAG_PLACES (1 + TS_TAG_LIBRARIES + 1) /* of the program, its libraries, the goroutine */

/* Tags in one process, as sdk/c/timesink.h lays them out; of Go, as it keeps labels. */
struct ts_tags {
	__u64 serial; /* of what was told of processes: a number is used again, this is not */
	__s64 offset; /* of the program's tags of a thread, from where its FS register points; 0: it has none */
	__u64 library[TS_TAG_LIBRARIES]; /* where each says itself how its tags are found; 0: no more have any */
	__u32 labels; /* of Go: where a goroutine has its labels; 0: it is not Go */
	__u32 in_map; /* they are a map, as before 1.24 */
};
_Static_assert(sizeof(struct ts_tags) == 80, "tags");

/* A thread has another tag than before. */
struct ts_tag {
	struct ts_head head; /* t: since when, as far as is known */
	__u64 seen_before; /* when the one before was last seen; 0: there was none yet */
	__u64 tag; /* a mark of its text, with the length in the low 16 bits; 0: none */
};
_Static_assert(sizeof(struct ts_tag) == 32, "tag");

#define TS_TAG_BYTES 256

struct ts_tag_text {
	struct ts_head head;
	__u64 tag;
	char text[TS_TAG_BYTES];
};
_Static_assert(sizeof(struct ts_tag_text) == 280, "tag text");

#define TS_BASH_FRAMES 32

/* A function that it is in. Texts that fill their room were longer. */
struct ts_bash_frame {
	char line[16]; /* where it was called, in the file of the next */
	char function[64];
	char file[240];
};
_Static_assert(sizeof(struct ts_bash_frame) == 320, "bash frame");

struct ts_script {
	struct ts_head head; /* as of the stack */
	__u32 line;
	__u32 simple_line;
	__u32 trap;
	__u16 count;
	__u8 what; /* as of the stack */
	__u8 cut; /* there are more */
	char command[8];
	struct ts_bash_frame frame[TS_BASH_FRAMES]; /* innermost first; only as many as count says are sent */
};
_Static_assert(sizeof(struct ts_script) == 40 + 320 * TS_BASH_FRAMES, "script");

/* The same, unwound: the user side is a node of the tree of stacks. */
struct ts_seen {
	struct ts_head head; /* thread: the one it is about */
	__u32 node; /* 0: not known */
	__u8 what;
	__u8 user;
	__u8 frames;
	__u8 complete; /* nothing is missing on the user side */
	__u64 frame[TS_FRAMES];
};
_Static_assert(sizeof(struct ts_seen) == 24 + 8 * TS_FRAMES, "seen");

/* One frame of user space and the node of its caller. */
struct ts_node {
	struct ts_head head;
	__u64 offset; /* in the module, as its symbols count; an address outside of modules */
	__u32 node; /* from 1 */
	__u32 parent; /* 0: outermost */
	__u32 module; /* from 1; 0: none is known */
	__u8 complete; /* the outermost frame is where the thread began */
	__u8 exact; /* the offset is of the instruction itself, not of the one to return to */
	__u8 inlined; /* it became part of the code of its caller */
	__u8 pad;
	__u32 code; /* of a function of a script, of Java or of Node.js: what the spool's notes tell of it; the offset is a line. 0: native */
	__u32 line; /* of code that a runtime made; 0: it is not known */
};
_Static_assert(sizeof(struct ts_node) == 48, "node");

/* What user space says to the probes while they run, and they to it (mapped by both). */
struct ts_control {
	__u32 stopped; /* the recording has ended: do nothing more */
	__u32 call_epoch; /* raised whenever calls start being timed anew */
	__u32 threads; /* last number given to a thread */
	__u32 alive; /* tracked threads alive */
	__u32 following; /* processes may come in from now on */
	__u32 followed; /* how many have, or would have */
	__u32 met; /* threads of theirs that have yet to be tracked */
	__u32 tasks; /* there are processes whose tasks are known */
	__u32 tags; /* there are processes that have tags */
	__u32 pad;
	__s64 day_clock_ahead; /* of the clock that all times are by, in nanoseconds; user space looks again and again */
};
_Static_assert(sizeof(struct ts_control) == 48, "control");

#define TS_MOST_FOLLOWED 256 /* processes */

/* The name of a kernel function, asked of the kernel by user space. */
struct ts_symbol {
	__u64 address;
	char name[120];
};
_Static_assert(sizeof(struct ts_symbol) == 128, "symbol");

/* Of one call in so many it is measured what noting its return takes: 25 ns each. */
#define TS_MEASURED_RETURNS 8

/* What the budget is reckoned from, by processor. */
enum ts_calls_counter {
	TS_CALLS_RECORDED,
	TS_CALLS_UNRECORDED,
	TS_CALLS_RETURNS_NS, /* our time as calls returned, of those that were measured */
	TS_CALLS_RETURNS, /* how many these are */
	TS_CALLS_STACKS_NS, /* for stacks of calls */
	TS_CALLS_SAMPLES_NS, /* for samples */
	TS_CALLS_COUNTERS,
};

/* Numbers of the kernel's types that pointers are declared to point at. */
struct ts_type_numbers {
	__u32 task_struct;
	__u32 pt_regs;
	__u32 list_head;
	__u32 file;
	__u32 rq;
	__u32 request;
};
_Static_assert(sizeof(struct ts_type_numbers) == 24, "type numbers");

/* What user space fixes before loading. */
struct ts_config {
	__u64 threshold_ns; /* waits from here up get an event with particulars */
	__u32 switch_has_state; /* sched_switch has the previous state as its 4th argument */
	__u32 output_device[2]; /* where our own output and errors go, if that is a pipe or a socket */
	__u32 unstable_clock; /* the scheduler's clock does not tick as ours does: ours alone counts */
	__s64 count_from_queue; /* where a processor counts that it serves softirqs, from its queue of threads; 0: not known */
	__u64 output_key[2];
	struct ts_type_numbers types;
	__u32 call_words[512]; /* TS_C_... by call number */
};
_Static_assert(sizeof(struct ts_config) == 72 + 2048, "config");

#define TS_MOST_DESCRIPTOR 0xffff /* a word of epoll's beyond this is no descriptor */

/* What a process has given epoll for one of its descriptors. */
struct ts_watched {
	__u32 pid;
	__u32 pad;
	__u64 word;
};
_Static_assert(sizeof(struct ts_watched) == 16, "watched");

/* What a call's arguments mean: one word a call number, made by user space before loading. */
#define TS_C_FD(w) ((w)&7) /* which argument is a descriptor, from 1; 0: none */
#define TS_C_PATH(w) (((w) >> 3) & 7) /* which is a path */
#define TS_C_NEWFD (1 << 6) /* the result is a descriptor */
#define TS_C_TIME(w) (((w) >> 7) & 7) /* which is a time-out */
#define TS_C_TIME_KIND(w) (((w) >> 10) & 7)
#define TS_C_SENDS (1 << 13)
#define TS_C_NAMES (1 << 14) /* changes what a socket is: connect, bind, accept */
#define TS_C_CLOSES (1 << 15)
#define TS_C_FUTEX (1 << 16)
#define TS_C_POLL (1 << 17) /* poll, ppoll */
#define TS_C_EPOLL (1 << 18)
#define TS_C_WATCHES (1 << 19) /* epoll_ctl */
#define TS_C_SENDTO (1 << 20) /* the fifth argument is where to */
#define TS_C_SENDMSG (1 << 21) /* the second argument is a message, which begins with where to */
#define TS_C_SELECT (1 << 22) /* select, pselect6 */
#define TS_C_ONE_PLACE (1 << 23) /* where a thread sleeps in it until it is interrupted is one place in the kernel */
enum ts_time_kind {
	TS_T_MS = 1, /* milliseconds, in the register */
	TS_T_TIMESPEC = 2,
	TS_T_TIMEVAL = 3,
	TS_T_CLOCK = 4, /* timespec; clock and flags in the two arguments before */
};

#endif
