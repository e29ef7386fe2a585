/* A file written in pieces of 40 bytes (fires), or the same pieces as questions and answers on two pipes (silent). */
#include "rule.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { PIECE = 40 };

__attribute__((noinline)) static void put_field(int file)
{
	char field[PIECE];
	memset(field, 'x', sizeof field);
	must(write(file, field, sizeof field) == sizeof field);
}

__attribute__((noinline)) static void get_field(int file)
{
	char field[PIECE];
	must(read(file, field, sizeof field) == sizeof field);
}

static void dialogue(int rounds)
{
	int questions[2], answers[2], status;
	must(pipe(questions) == 0 && pipe(answers) == 0);
	pid_t child = fork();
	must(child >= 0);
	for (int round = 0; round < rounds; round++) {
		if (child) {
			put_field(questions[1]);
			get_field(answers[0]);
		} else {
			get_field(questions[0]);
			put_field(answers[1]);
		}
	}
	if (!child)
		_exit(0);
	must(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (!fires(argc, argv)) {
		dialogue(15000);
		return 0;
	}
	int file = open("export.bin", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	must(file >= 0);
	for (int field = 0; field < 800000; field++)
		put_field(file);
	return 0;
}
