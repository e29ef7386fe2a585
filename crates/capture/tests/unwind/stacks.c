// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Stacks whose frames are known. The first argument says which; the program says "ready" and then
 * waits in `innermost`, or spins.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

static volatile int sink;
static volatile int zero;

FUNCTION void innermost(void)
{
	if (write(1, "ready\n", 6) != 6)
		exit(1);
	for (;;)
		pause();
}

FUNCTION void middle(int depth)
{
	char room[64];

	memset(room, depth, sizeof(room));
	if (depth > 0)
		middle(depth - 1);
	else
		innermost();
	sink += room[depth & 63];
}

/* A frame without a fixed size, and one that is aligned: both are told by other registers. */
FUNCTION void changing(int size)
{
	volatile char room[size];

	room[0] = 1;
	middle(2);
	sink += room[size - 1];
}

FUNCTION void aligned(int size)
{
	volatile char room[128] __attribute__((aligned(128)));

	room[0] = size;
	changing(size);
	sink += room[0];
}

/* So many variables that the caller is far away. */
FUNCTION void wide(void)
{
	volatile char room[512 << 10];

	room[0] = 1;
	middle(2);
	sink += room[sizeof(room) - 1];
}

FUNCTION void on_made_stack(void)
{
	innermost();
	sink++;
}

/* As Rust's `stacker` does it: call on another stack, with the old one in rbp. */
void go_to(void (*function)(void), void *stack);
__asm__("	.text\n"
	"	.type go_to, @function\n"
	"go_to:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size go_to, . - go_to\n");

FUNCTION void on_signal(int number)
{
	(void)number;
	innermost();
	sink++;
}

FUNCTION void interrupted(void)
{
	*(volatile int *)(long)zero = 1;
	sink++;
}

FUNCTION void *in_thread(void *unused)
{
	middle(3);
	sink++;
	return unused;
}

FUNCTION void from_jit(void)
{
	innermost();
	sink++;
}

static void handle(int flags)
{
	static char other[64 << 10];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	interrupted();
	sink++;
}

static void through_jit(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(place, code, sizeof(code));
	mprotect(place, 4096, PROT_READ | PROT_EXEC);
	((void (*)(void (*)(void)))place)(from_jit);
	sink++;
}

FUNCTION int leaf(int n)
{
	return n * 3 + sink;
}

FUNCTION int spins(int n)
{
	/* getppid and strchr are called through stubs of the procedure linkage table. */
	if (n > 2)
		sink = spins(n - 1) + leaf(n);
	return getppid() + (strchr("abc", 'a' + (n & 1)) != NULL) + leaf(n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int depth = argc > 2 ? atoi(argv[2]) : 3;
	static char made[64 << 10] __attribute__((aligned(16)));
	pthread_t thread;

	if (!strcmp(what, "plain"))
		middle(depth);
	else if (!strcmp(what, "frames"))
		aligned(100 + argc);
	else if (!strcmp(what, "signal"))
		handle(0);
	else if (!strcmp(what, "other stack"))
		handle(SA_ONSTACK);
	else if (!strcmp(what, "thread") && !pthread_create(&thread, NULL, in_thread, NULL))
		pthread_join(thread, NULL);
	else if (!strcmp(what, "large"))
		wide();
	else if (!strcmp(what, "made stack"))
		go_to(on_made_stack, made + sizeof(made));
	else if (!strcmp(what, "jit"))
		through_jit();
	else if (!strcmp(what, "spin") && write(1, "ready\n", 6) == 6)
		for (;;)
			sink += spins(4);
	return sink;
}
