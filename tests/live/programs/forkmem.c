/* Forks while it holds much memory: forkmem [MEGABYTES] [FORKS]
 *
 * By construction MEGABYTES (default 2048) of private memory are touched, page by page and without
 * huge pages; then /bin/true is started FORKS times (default 1) with fork, not vfork, and waited
 * for. Each fork copies the page tables, and the end of the process tears them down. Prints to
 * stderr what each part took, as the program saw it, and its resident size at the first fork.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <sys/mman.h>
#include <sys/wait.h>

static long resident_kb(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        die("statm");
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv) {
    size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 2048) << 20;
    long forks = argc > 2 ? atol(argv[2]) : 1;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        die("mmap");
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    uint64_t started = now();
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    uint64_t touch_ns = now() - started, fork_ns = 0, wait_ns = 0;
    long resident = resident_kb();
    for (long i = 0; i < forks; i++) {
        uint64_t before = now();
        pid_t child = fork();
        if (child < 0)
            die("fork");
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        uint64_t between = now();
        waitpid(child, NULL, 0);
        fork_ns += between - before;
        wait_ns += now() - between;
    }
    fprintf(stderr,
            "{\"phase\":\"forkmem\",\"tid\":%d,\"count\":%ld,\"resident_kb\":%ld,\"touch_ns\":%llu,"
            "\"fork_ns\":%llu,\"wait_ns\":%llu}\n",
            getpid(), forks, resident, (unsigned long long)touch_ns, (unsigned long long)fork_ns,
            (unsigned long long)wait_ns);
    return 0;
}
