/* A loop of events that gives epoll a word of its own for its connection, as Go, tokio and nginx do: watched COUNT
 *
 * By construction a child answers COUNT bytes over a TCP connection on the loopback, each 5 ms after it came. The loop
 * connects and says so ("ready"), and begins when its input ends; it waits in epoll_wait alone, for that connection alone.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

struct connection {
    int fd;
};

static int made(int listening, struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listening, (struct sockaddr *)address, length) != 0 || listen(listening, 1) != 0)
        die("listening");
    return getsockname(listening, (struct sockaddr *)address, &length);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 40, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct connection *own = malloc(sizeof *own);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = own};
    struct sockaddr_in address = {0};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    char byte = 'x';

    if (made(listening, &address) != 0)
        die("setting up");
    if (fork() == 0) {
        int asked = accept(listening, NULL, NULL);
        while (read(asked, &byte, 1) == 1) {
            sleep_ns(5 * MS);
            if (write(asked, &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    own->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(own->fd, (struct sockaddr *)&address, sizeof address);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, own->fd, &event) != 0)
        die("epoll_ctl");
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    for (int i = 0; i < count; i++) {
        struct epoll_event found;
        if (write(own->fd, &byte, 1) != 1 || epoll_wait(epoll, &found, 1, -1) != 1)
            die("asking");
        if (found.data.ptr != own || read(own->fd, &byte, 1) != 1)
            die("answer");
    }
    fprintf(stderr, "{\"phase\":\"asked\",\"tid\":%ld,\"count\":%d}\n", syscall(SYS_gettid), count);
    return 0;
}
