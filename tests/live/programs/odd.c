/* Programs that are odd in ways that are theirs to choose. Called with which one, and where it may put files:
 * `files`: maps thousands of files as code. `root`: runs below a folder that is removed. `pipe`, `link`, `sparse`: its map of made
 * code, in a `/tmp` of its own, is such a thing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static void run_made_code(void)
{
	/* mov rax, rdi; dec rax; jnz; ret */
	const unsigned char code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
	void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(made != MAP_FAILED, "mmap");
	memcpy(made, code, sizeof(code));
	for (int i = 0; i < 30; i++)
		((long (*)(long))made)(20000000L);
}

static void map_files(const char *place)
{
	char path[4096];

	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "%s/%d", place, i);
		int fd = open(path, O_CREAT | O_RDWR, 0755);
		must(fd >= 0 && write(fd, "\177ELF and nothing else", 21) == 21, path);
		must(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
		close(fd);
	}
}

static void odd_map(const char *what)
{
	char path[100];

	must(!unshare(CLONE_NEWNS) && !mount("none", "/", 0, MS_REC | MS_PRIVATE, 0), "unshare");
	must(!mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"), "mount");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (!strcmp(what, "pipe"))
		must(!mkfifo(path, 0666), path);
	else if (!strcmp(what, "link"))
		must(!symlink("/etc/shadow", path), path);
	else
		must(!truncate(path, 0) || !ftruncate(open(path, O_CREAT | O_RDWR, 0644), 4LL << 30), path);
}

static void remove_root(const char *place)
{
	int before = open(place, O_PATH | O_DIRECTORY);

	must(before >= 0 && !mkdirat(before, "gone", 0755) && !chdir(place) && !chroot("gone"), "chroot");
	must(!unlinkat(before, "gone", AT_REMOVEDIR) && !close(before), "unlinkat");
}

int main(int count, char **words)
{
	must(count == 3, "usage");
	if (!strcmp(words[1], "files"))
		map_files(words[2]);
	else if (!strcmp(words[1], "root"))
		remove_root(words[2]);
	else
		odd_map(words[1]);
	run_made_code();
	return 0;
}
