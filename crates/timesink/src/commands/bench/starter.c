// Starts a program, waits for its end, and tells what the kernel counted of it: `starter FD PATH NAME ARGUMENTS...`.
//
// The kernel keeps as the peak of a process's memory what it had before it became the program. A process that comes from this one
// had next to nothing, where one that comes from timesink has what timesink has. Therefore no C library and no memory of its own.

typedef unsigned long u64;

enum { WRITE = 1, FORK = 57, EXECVE = 59, EXIT = 60, WAIT4 = 61, FCNTL = 72, SETPGID = 109, CLOCK_GETTIME = 228 };
enum { F_SETFD = 2, FD_CLOEXEC = 1, CLOCK_MONOTONIC = 1, INTERRUPTED = -4, NO_FORMAT = 8 };
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

static void become(int fd, char **words, char **environment)
{
	struct message message = { .kind = FAILED };

	// Whoever ends it ends its whole group.
	call(SETPGID, 0, 0, 0, 0);
	message.value = -call(EXECVE, (long)words[2], (long)(words + 3), (long)environment, 0);
	if (message.value == NO_FORMAT) {
		// A script that does not say for whom is the shell's, as with execvp.
		words[3] = words[2];
		words[2] = "/bin/sh";
		message.value = -call(EXECVE, (long)words[2], (long)(words + 2), (long)environment, 0);
	}
	tell(fd, &message);
	call(EXIT, 127, 0, 0, 0);
}

__attribute__((noreturn, used)) static void begin(long *stack)
{
	struct message message = { .kind = STARTED };
	char **words = (char **)(stack + 1);
	char **environment = words + stack[0] + 1;
	const char *digit = stack[0] > 3 ? words[1] : "";
	int fd = 0, status = 0;
	long pid, came;

	for (; *digit; digit++)
		fd = fd * 10 + (*digit - '0');
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
