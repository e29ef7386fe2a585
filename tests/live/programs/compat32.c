/* A 32-bit program on a 64-bit kernel: compat32
 *
 * By construction it sleeps 5 x 20 ms, then reads 5 single bytes from a pipe whose other end a
 * child process writes to after 10 ms each. Prints the truth to stderr. Its system calls have the
 * numbers of i386 (nanosleep 162, read 3), which are other calls on x86_64: a recorder that mixes
 * the two up takes `read` for `close`. It uses neither libc nor libgcc, so that no 32-bit library
 * has to be installed to build it.
 */
typedef unsigned int u32;

struct timespec32 {
    int seconds, nanoseconds;
};

enum { EXIT = 1, FORK = 2, READ = 3, WRITE = 4, WAITPID = 7, PIPE = 42, NANOSLEEP = 162, GETTID = 224, CLOCK_GETTIME = 265 };

static int call(int number, u32 a, u32 b, u32 c) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

/* Wraps around after 4.29 s, which differences of less than that do not mind. */
static u32 now(void) {
    struct timespec32 t;
    call(CLOCK_GETTIME, 1, (u32)&t, 0);
    return (u32)t.seconds * 1000000000u + (u32)t.nanoseconds;
}

static void sleep_ms(int ms) {
    struct timespec32 t = {0, ms * 1000000};
    call(NANOSLEEP, (u32)&t, 0, 0);
}

static char line[128];
static u32 length;

static void text(const char *what) {
    while (*what)
        line[length++] = *what++;
}

static void number(u32 value) {
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        line[length++] = digits[--count];
}

static void print(const char *phase, u32 count, u32 ns) {
    length = 0;
    text("{\"phase\":\"");
    text(phase);
    text("\",\"tid\":");
    number((u32)call(GETTID, 0, 0, 0));
    text(",\"count\":");
    number(count);
    text(",\"ns\":");
    number(ns);
    text("}\n");
    call(WRITE, 2, (u32)line, length);
}

static void run(void) {
    u32 slept = 0, read = 0;
    int ends[2];
    char byte = 'x';
    for (int i = 0; i < 5; i++) {
        u32 before = now();
        sleep_ms(20);
        slept += now() - before;
    }
    if (call(PIPE, (u32)ends, 0, 0) != 0)
        call(EXIT, 1, 0, 0);
    int child = call(FORK, 0, 0, 0);
    if (child == 0) {
        for (int i = 0; i < 5; i++) {
            sleep_ms(10);
            call(WRITE, (u32)ends[1], (u32)&byte, 1);
        }
        call(EXIT, 0, 0, 0);
    }
    for (int i = 0; i < 5; i++) {
        u32 before = now();
        call(READ, (u32)ends[0], (u32)&byte, 1);
        read += now() - before;
    }
    call(WAITPID, (u32)child, 0, 0);
    print("sleep", 5, slept);
    print("pipe", 5, read);
}

__attribute__((force_align_arg_pointer, noreturn, used)) void _start(void) {
    run();
    for (;;)
        call(EXIT, 0, 0, 0);
}
