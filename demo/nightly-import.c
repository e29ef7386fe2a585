/* nightly-import DATA: loads the rows of a file into a store, and is slow for six reasons.
 *
 * It is made up, but each of its habits has been seen in programs that people wait for: it flushes
 * the store for every row, reads the price list again for every row, starts a shell to note how far
 * it has come, pauses "to be kind to the disk", shares a lock with a thread that keeps it for too
 * long, and works out the same checksum bit by bit. `make demo` records it; the report should name
 * them all. It writes rows.db and import.log into the current directory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_PER_NOTE = 100, ROWS_PER_PAUSE = 250, PAUSE_MS = 40, STATISTICS_MS = 25, ROOM = 256 };

static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t totals[64];
static bool done;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void pause_ms(long ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* The price of an article, from a list that is read from its first line each time. */
static double price_of(int article) {
    FILE *list = fopen("prices.txt", "re");
    char line[ROOM];
    double price = 0;
    if (!list)
        fail("prices.txt");
    while (fgets(line, sizeof line, list)) {
        char *rest;
        if (strtol(line, &rest, 10) == article)
            price = strtod(rest, NULL);
    }
    fclose(list);
    return price;
}

/* CRC-32 without a table, eight steps a byte. */
static uint32_t checksum(const char *text, size_t length) {
    uint32_t sum = ~0u;
    for (size_t i = 0; i < length; i++) {
        sum ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
    return ~sum;
}

/* One row into the store, and to the disk at once, unless it is built with -DFLUSH_EACH_ROW=0. */
static void store(int rows, int article, double price) {
    char text[4096];
    memset(text, '.', sizeof text);
    int length = snprintf(text, sizeof text, "%d %.2f", article, price);
    text[length] = ' ';
    uint32_t sum = 0;
    for (int round = 0; round < 4; round++)
        sum ^= checksum(text, sizeof text);
    length = snprintf(text, sizeof text, "%d\t%.2f\t%08x\n", article, price, sum);
    if (write(rows, text, length) != length || (FLUSH_EACH_ROW && fdatasync(rows)))
        fail("rows.db");
}

/* Keeps the lock while it adds up, and takes its time over it. */
static void *keep_statistics(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&totals_lock);
        uint64_t sum = 0;
        for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
            sum += totals[i];
        pause_ms(sum ? STATISTICS_MS : 1);
        pthread_mutex_unlock(&totals_lock);
        pause_ms(4 * STATISTICS_MS);
    }
    return NULL;
}

int main(int argc, char **argv) {
    FILE *data = argc == 2 ? fopen(argv[1], "re") : NULL;
    int rows = open("rows.db", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char line[ROOM];
    long number = 0;
    pthread_t statistics;
    if (!data || rows < 0) {
        fprintf(stderr, "usage: nightly-import DATA, where rows.db can be written\n");
        return 2;
    }
    pthread_create(&statistics, NULL, keep_statistics, NULL);
    pthread_setname_np(statistics, "statistics");
    while (fgets(line, sizeof line, data)) {
        int article = atoi(line);
        store(rows, article, price_of(article));
        pthread_mutex_lock(&totals_lock);
        totals[article % 64]++;
        pthread_mutex_unlock(&totals_lock);
        if (++number % ROWS_PER_NOTE == 0 && system("date >> import.log"))
            fail("date");
        if (number % ROWS_PER_PAUSE == 0)
            pause_ms(PAUSE_MS);
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    pthread_join(statistics, NULL);
    if (fdatasync(rows))
        fail("rows.db");
    printf("%ld rows imported\n", number);
    return 0;
}
