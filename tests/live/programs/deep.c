/* Sleeps at the bottom of a recursion: deep [DEPTH] */
#include <stdlib.h>
#include <time.h>

static volatile long sink;

__attribute__((noinline)) static void down(long depth) {
    volatile char room[48];
    room[depth % sizeof room] = (char)depth;
    if (depth > 0) {
        down(depth - 1);
    } else {
        for (int i = 0; i < 40; i++) {
            struct timespec t = {0, 5000000};
            nanosleep(&t, NULL);
        }
    }
    sink += room[depth % sizeof room];
}

int main(int argc, char **argv) {
    down(argc > 1 ? atol(argv[1]) : 100000);
    return 0;
}
