/* Servers and their clients, over what one can talk through on one machine:
 *   serving server KIND PLACE WORK   says `ready` when it can be asked, then answers until it is killed
 *   serving client KIND PLACE...     asks each of these servers in turn, and ends
 *
 * KIND is tcp (PLACE is a port), unix (a path), pipe (a path: two named pipes), futex (a file, mapped by both).
 * WORK is what a request takes, by construction 200 ms asleep and 100 ms on a processor in functions of known names:
 *   here        main -> serve -> nap_in_server and work_in_server
 *   thread      the same in a thread that was there before
 *   fork        in a child: serve -> in_child -> nap_in_child and work_in_child
 *   ask=PATH    nothing, but asks the unix server there in turn
 *   late        unasked: a client that has connected is answered after 200 ms and 100 ms of work
 *   polls       the same as here, but nobody wakes it: it looks now and then whether there is a client
 *   die         nothing: it ends without an answer, and its clients see that
 *   herd        the same as here, in one of eight processes that all wait for clients: each is woken by every client
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define MS 1000000L

static volatile unsigned long sink;
static const char *work;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * MS};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static void spin(long ms) {
    struct timespec start, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 31 + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / MS < ms);
}

KEPT static void nap_in_server(void) { nap(200); sink++; }
KEPT static void work_in_server(void) { spin(100); sink++; }
/* The compiler makes one of two functions that do the same: these do not quite. */
KEPT static void nap_in_child(void) { nap(200); sink += 2; }
KEPT static void work_in_child(void) { spin(100); sink += 2; }

KEPT static void in_child(void) {
    nap_in_child();
    work_in_child();
    sink++;
}

static int connected(const char *kind, const char *place) {
    if (strcmp(kind, "tcp") == 0) {
        struct sockaddr_in to = {AF_INET, htons(atoi(place)), {htonl(INADDR_LOOPBACK)}, {0}};
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
            die("connect");
        return fd;
    }
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, place, sizeof(to.sun_path) - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("connect");
    return fd;
}

/* Sends a byte and awaits one. Who ends without an answer has answered, too. */
static void ask(int to, int from) {
    char byte = 'x';
    if (write(to, &byte, 1) != 1 && errno != EPIPE)
        die("write");
    if (read(from, &byte, 1) < 0 && errno != ECONNRESET)
        die("read");
}

/* The thread that does it for others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int handed;

KEPT static void *in_thread(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (handed != 1)
            pthread_cond_wait(&changed, &lock);
        nap_in_server();
        work_in_server();
        handed = 2;
        pthread_cond_broadcast(&changed);
    }
    return unused;
}

static void hand_over(void) {
    pthread_mutex_lock(&lock);
    handed = 1;
    pthread_cond_broadcast(&changed);
    while (handed != 2)
        pthread_cond_wait(&changed, &lock);
    handed = 0;
    pthread_mutex_unlock(&lock);
}

/* What one request takes. */
KEPT static void serve(void) {
    if (strcmp(work, "die") == 0)
        exit(0);
    if (strcmp(work, "thread") == 0) {
        hand_over();
    } else if (strcmp(work, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            in_child();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else if (strncmp(work, "ask=", 4) == 0) {
        int fd = connected("unix", work + 4);
        ask(fd, fd);
        close(fd);
    } else {
        nap_in_server();
        work_in_server();
    }
    sink++;
}

static void answer(int from, int to) {
    char byte;
    while (read(from, &byte, 1) == 1) {
        serve();
        if (write(to, &byte, 1) != 1)
            return;
    }
}

static int listening(const char *kind, const char *place) {
    int tcp = strcmp(kind, "tcp") == 0, one = 1;
    int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_in port = {AF_INET, htons(atoi(place)), {htonl(INADDR_LOOPBACK)}, {0}};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    strncpy(path.sun_path, place, sizeof(path.sun_path) - 1);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, tcp ? (void *)&port : (void *)&path, tcp ? sizeof(port) : sizeof(path)) != 0 || listen(fd, 64) != 0)
        die("listening");
    return fd;
}

static void named_pipes(const char *place, char in[256], char out[256]) {
    snprintf(in, 256, "%s.in", place);
    snprintf(out, 256, "%s.out", place);
}

/* A word that both have mapped: 1 is a request, 2 the answer. */
static int *mapped(const char *place) {
    int fd = open(place, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        die(place);
    int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (word == MAP_FAILED)
        die("mmap");
    return word;
}

static void await(int *word, int wanted) {
    int found;
    while ((found = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != wanted)
        syscall(SYS_futex, word, FUTEX_WAIT, found, NULL, NULL, 0);
}

static void tell(int *word, int value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* All wait, one gets the client. */
static void in_herd(int listener) {
    struct pollfd client = {listener, POLLIN, 0};
    for (int i = 1; i < 8; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            break;
        }
    fcntl(listener, F_SETFL, O_NONBLOCK);
    while (poll(&client, 1, -1) == 1) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0) {
            answer(fd, fd);
            close(fd);
        }
    }
}

static void server(const char *kind, const char *place) {
    pthread_t thread;
    char in[256], out[256];
    int listener = -1, *word = NULL;

    named_pipes(place, in, out);
    if (strcmp(kind, "pipe") == 0) {
        if (mkfifo(in, 0600) != 0 || mkfifo(out, 0600) != 0)
            die("mkfifo");
    } else if (strcmp(kind, "futex") == 0) {
        word = mapped(place);
    } else {
        listener = listening(kind, place);
    }
    if (strcmp(work, "polls") == 0)
        fcntl(listener, F_SETFL, O_NONBLOCK);
    if (strcmp(work, "thread") == 0)
        pthread_create(&thread, NULL, in_thread, NULL);
    puts("ready");
    fflush(stdout);
    if (strcmp(work, "herd") == 0)
        in_herd(listener);
    for (;;) {
        if (word) {
            await(word, 1);
            serve();
            tell(word, 2);
        } else if (listener < 0) {
            /* Both ends at once, or opening one would wait for the client. */
            int from = open(in, O_RDWR), to = open(out, O_RDWR);
            answer(from, to);
        } else {
            int fd = accept(listener, NULL, NULL);
            if (fd < 0) {
                nap(20);
                continue;
            }
            if (strcmp(work, "late") == 0) {
                char byte = 'x';
                nap_in_server();
                work_in_server();
                if (write(fd, &byte, 1) != 1)
                    die("write");
            } else {
                answer(fd, fd);
            }
            close(fd);
        }
    }
}

static void client(const char *kind, const char *place) {
    char in[256], out[256];

    if (strcmp(kind, "futex") == 0) {
        int *word = mapped(place);
        tell(word, 1);
        await(word, 2);
        return;
    }
    if (strcmp(kind, "pipe") == 0) {
        named_pipes(place, in, out);
        ask(open(in, O_WRONLY), open(out, O_RDONLY));
        return;
    }
    int fd = connected(kind, place);
    ask(fd, fd);
    close(fd);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "server") == 0 && argc == 5) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work = argv[4];
        server(argv[2], argv[3]);
    }
    for (int i = 3; i < argc; i++)
        client(argv[2], argv[i]);
    return 0;
}
