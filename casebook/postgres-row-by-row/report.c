/* Sums up the sales of some ids. `report rows COUNT` asks for each of them, `report whole COUNT` for all at once. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PGconn *database;

static PGresult *answered(PGresult *answer)
{
	if (PQresultStatus(answer) != PGRES_TUPLES_OK) {
		fprintf(stderr, "%s", PQerrorMessage(database));
		exit(1);
	}
	return answer;
}

__attribute__((noinline)) static long amount_of(int id)
{
	char text[16];
	const char *values[] = { text };
	PGresult *answer;
	long amount;

	snprintf(text, sizeof(text), "%d", id);
	answer = answered(PQexecPrepared(database, "one", 1, values, NULL, NULL, 0));
	amount = atol(PQgetvalue(answer, 0, 0));
	PQclear(answer);
	return amount;
}

static long amount_of_all(int count)
{
	char text[128];
	long sum = 0;
	PGresult *answer;

	snprintf(text, sizeof(text), "select amount from sales where id <= %d", count);
	answer = answered(PQexec(database, text));
	for (int row = 0; row < PQntuples(answer); row++)
		sum += atol(PQgetvalue(answer, row, 0));
	PQclear(answer);
	return sum;
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	long sum = 0;

	database = PQconnectdb("host=127.0.0.1 port=18420 user=postgres");
	if (PQstatus(database) != CONNECTION_OK || count < 1) {
		fprintf(stderr, "report rows|whole COUNT: %s", PQerrorMessage(database));
		return 1;
	}
	if (!strcmp(argv[1], "rows")) {
		PQclear(PQprepare(database, "one", "select amount from sales where id = $1::int", 1, NULL));
		for (int id = 1; id <= count; id++)
			sum += amount_of(id);
	} else {
		sum = amount_of_all(count);
	}
	printf("%ld\n", sum);
	PQfinish(database);
	return 0;
}
