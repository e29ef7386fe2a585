/* Names that would harm a terminal: hostile
 *
 * By construction the process is named with an escape sequence that clears the screen, opens a file
 * of such a name in the present folder, writes to it and flushes it, looks for one that is not
 * there, and sleeps 20 ms.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <sys/prctl.h>

int main(void) {
    const char *name = "\033[2J\033]0;evil\007\r\n\xc2\x9b.data";
    prctl(PR_SET_NAME, "\033[2J\r\nevil");
    int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) != 0)
        die("the hostile file");
    close(fd);
    unlink(name);
    if (open("\033[31mnot there\xe2\x80\xae", O_RDONLY | O_CLOEXEC) >= 0)
        return 1;
    sleep_ns(20 * MS);
    return 0;
}
