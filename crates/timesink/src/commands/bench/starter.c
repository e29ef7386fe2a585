// Starts a program, waits for its end, and tells what the kernel counted of it: `starter FD COUNT FILE... NAME ARGUMENTS...`, where
// each of the files may be the program.
//
// The kernel keeps as the peak of a process's memory what it had before it became the program. A process that comes from this one
// had next to nothing, where one that comes from timesink has what timesink has. Therefore no C library and no memory of its own.

typedef unsigned long u64;

enum { WRITE = 1, FORK = 57, EXECVE = 59, EXIT = 60, WAIT4 = 61, FCNTL = 72, SETPGID = 109, CLOCK_GETTIME = 228 };
enum { F_SETFD = 2, FD_CLOEXEC = 1, CLOCK_MONOTONIC = 1, INTERRUPTED = -4 };
enum { NOT_THERE = 2, NO_FORMAT = 8, NO_ACCESS = 13, NO_FOLDER = 20 };
enum { STARTED = 1, FAILED = 2, ENDED = 3 };

// What start.rs reads: a message is written at once.
struct message {
	u64 kind;
	// The process, the number of the error, or how it ended.
	long value;
	u64 begun_ns;
	u64 ended_ns;
	// struct rusage
	u64 usage[18];
};
_Static_assert(sizeof(struct message) == 22 * sizeof(u64), "read by start.rs");

static long call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

static u64 now_ns(void)
{
	long time[2] = { 0, 0 };

	call(CLOCK_GETTIME, CLOCK_MONOTONIC, (long)time, 0, 0);
	return (u64)time[0] * 1000000000 + (u64)time[1];
}

static void tell(int fd, const struct message *message)
{
	call(WRITE, fd, (long)message, sizeof(*message), 0);
}

static long number_in(const char *digit)
{
	long number = 0;

	for (; *digit; digit++)
		number = number * 10 + (*digit - '0');
	return number;
}

static void become(int fd, char **words, char **environment)
{
	struct message message = { .kind = FAILED };
	long files = number_in(words[2]), refused = 0, fault = NOT_THERE;
	char **arguments = words + 3 + files;

	// Whoever ends it ends its whole group.
	call(SETPGID, 0, 0, 0, 0);
	// As execvp: who may not execute one file goes on to the next.
	for (long at = 0; at < files; at++) {
		char *file = words[3 + at];

		fault = -call(EXECVE, (long)file, (long)arguments, (long)environment, 0);
		if (fault == NO_FORMAT) {
			// A script that does not say for whom is the shell's.
			arguments[0] = file;
			arguments[-1] = "/bin/sh";
			fault = -call(EXECVE, (long)arguments[-1], (long)(arguments - 1), (long)environment, 0);
		}
		if (fault == NO_ACCESS)
			refused = fault;
		else if (fault != NOT_THERE && fault != NO_FOLDER)
			break;
	}
	message.value = refused && (fault == NOT_THERE || fault == NO_FOLDER) ? refused : fault;
	tell(fd, &message);
	call(EXIT, 127, 0, 0, 0);
}

__attribute__((noreturn, used)) static void begin(long *stack)
{
	struct message message = { .kind = STARTED };
	char **words = (char **)(stack + 1);
	char **environment = words + stack[0] + 1;
	int fd = stack[0] > 4 ? number_in(words[1]) : 0, status = 0;
	long pid, came;

	call(FCNTL, fd, F_SETFD, FD_CLOEXEC, 0);
	message.begun_ns = now_ns();
	pid = fd ? call(FORK, 0, 0, 0, 0) : -1;
	if (pid == 0)
		become(fd, words, environment);
	if (pid > 0) {
		call(SETPGID, pid, pid, 0, 0);
		message.value = pid;
		tell(fd, &message);
		do
			came = call(WAIT4, pid, (long)&status, 0, (long)message.usage);
		while (came == INTERRUPTED);
		message.kind = ENDED;
		message.value = status;
		message.ended_ns = now_ns();
	} else {
		message.kind = FAILED;
		message.value = -pid;
	}
	tell(fd, &message);
	for (;;)
		call(EXIT, 0, 0, 0, 0);
}

__asm__(".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call begin\n");
