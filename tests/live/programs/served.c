/* A process whose memory or files lie on a file system that it serves itself (FUSE) and never answers for: who reads
 * them waits until the server is gone. Called with what lies there, where the file system is to be, and for `memory` with a
 * library that looks like Java's. Says its number when it is ready. All of it is gone after 50 seconds at the latest. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

enum { LOOKUP = 1, FORGET = 2, GETATTR = 3, OPEN = 14, READ = 15, RELEASE = 18, FLUSH = 25, INIT = 26,
       OPENDIR = 27, RELEASEDIR = 29, INTERRUPT = 36, BATCH_FORGET = 42 };

struct in { uint32_t length, op; uint64_t unique, node; uint32_t uid, gid, pid, pad; };
struct out { uint32_t length; int32_t error; uint64_t unique; };
struct attr { uint64_t ino, size, blocks, atime, mtime, ctime; uint32_t ns[3], mode, links, uid, gid, rdev, block, flags; };
struct entry { uint64_t node, generation, valid, attr_valid; uint32_t ns[2]; struct attr attr; };
struct attrs { uint64_t valid; uint32_t ns, pad; struct attr attr; };

static void reply(int fd, uint64_t unique, int error, const void *data, size_t size)
{
	char all[256];
	struct out out = { sizeof(out) + size, error, unique };

	memcpy(all, &out, sizeof(out));
	memcpy(all + sizeof(out), data, size);
	if (write(fd, all, sizeof(out) + size) < 0 && errno != ENOENT)
		_exit(0);
}

/* 1 is the root, 3 `tmp` in it; all else is a file of one page. */
static struct attr about(uint64_t node)
{
	int folder = node == 1 || node == 3;

	/* From after the start of any recording. */
	return (struct attr){ .ino = node, .size = 4096, .blocks = 8, .links = 1, .block = 4096,
			      .mtime = 4000000000, .ctime = 4000000000,
			      .mode = folder ? 040755 : 0100755 };
}

static void serve(int fd, int without_names)
{
	static char bytes[1 << 18];

	for (;;) {
		ssize_t got = read(fd, bytes, sizeof(bytes) - 1);
		struct in *in = (struct in *)bytes;
		const char *name = bytes + sizeof(*in);

		if (got < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (got <= 0)
			_exit(0);
		bytes[got] = 0;
		if (in->op == INIT) {
			uint32_t init[16] = { 7, 31, 0, 0, 12 | 9 << 16, 4096, 1, 1 };
			reply(fd, in->unique, 0, init, sizeof(init));
		} else if (in->op == LOOKUP && without_names && !strcmp(name, "tmp")) {
			continue;
		} else if (in->op == LOOKUP) {
			uint64_t node = !strcmp(name, "tmp") ? 3 : !strcmp(name, "x") ? 2 : 4;
			struct entry entry = { node, 0, 100, 100, { 0 }, about(node) };
			if (node == 4 && strncmp(name, "perf-", 5))
				reply(fd, in->unique, -ENOENT, "", 0);
			else
				reply(fd, in->unique, 0, &entry, sizeof(entry));
		} else if (in->op == GETATTR) {
			struct attrs attrs = { 100, 0, 0, about(in->node) };
			reply(fd, in->unique, 0, &attrs, sizeof(attrs));
		} else if (in->op == OPEN || in->op == OPENDIR) {
			uint64_t opened[2] = { 1, 0 };
			reply(fd, in->unique, 0, opened, sizeof(opened));
		} else if (in->op == RELEASE || in->op == RELEASEDIR || in->op == FLUSH) {
			reply(fd, in->unique, 0, "", 0);
		} else if (in->op != READ && in->op != FORGET && in->op != BATCH_FORGET && in->op != INTERRUPT) {
			reply(fd, in->unique, -ENOSYS, "", 0);
		}
	}
}

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		_exit(1);
	}
}

static void mount_at(const char *place, int without_names)
{
	char options[100];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	must(fd >= 0, "/dev/fuse");
	must(!unshare(CLONE_NEWNS) && !mount("none", "/", 0, MS_REC | MS_PRIVATE, 0), "unshare");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	must(!mount("served", place, "fuse", 0, options), "mount");
	if (!fork()) {
		alarm(50);
		serve(fd, without_names);
	}
	close(fd);
}

/* Code that no file is behind, run for a while. */
static void run_made_code(void)
{
	/* mov rax, rdi; dec rax; jnz; ret */
	const unsigned char code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
	void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(made != MAP_FAILED, "mmap");
	memcpy(made, code, sizeof(code));
	for (;;) {
		((long (*)(long))made)(20000000L);
		usleep(1000);
	}
}

static int file_at(const char *place)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/x", place);
	fd = open(path, O_RDONLY);
	must(fd >= 0, path);
	return fd;
}

int main(int count, char **words)
{
	const char *what = words[1], *place = words[2];
	int protection = PROT_READ;
	char *at = 0;

	must(count > 2, "usage");
	alarm(50);
	if (!strcmp(what, "memory")) {
		void *library = dlopen(words[3], RTLD_NOW);
		must(library != 0, "dlopen");
		at = dlsym(library, "gHotSpotVMStructEntryArrayStride");
	} else if (!strcmp(what, "code")) {
		protection |= PROT_EXEC;
	}
	mount_at(place, !strcmp(what, "root"));
	if (!strcmp(what, "root") || !strcmp(what, "map")) {
		must(!chroot(place) && !chdir("/"), "chroot");
	} else {
		at = (char *)((uintptr_t)at & ~4095UL);
		at = mmap(at, 4096, protection, MAP_PRIVATE | (at ? MAP_FIXED : 0), file_at(place), 0);
		must(at != MAP_FAILED, "mmap");
	}
	printf("%d\n", getpid());
	fflush(stdout);
	run_made_code();
}
