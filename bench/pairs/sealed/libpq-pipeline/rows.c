#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

static const char INSERT[] = "insert into t values ($1::int, 'a row')";

static void must(int good, PGconn *connection)
{
	if (!good) {
		fprintf(stderr, "%s\n", PQerrorMessage(connection));
		exit(1);
	}
}

static void insert_and_wait(PGconn *connection, const char *values[])
{
	PGresult *result = PQexecParams(connection, INSERT, 1, NULL, values, NULL, NULL, 0);
	must(PQresultStatus(result) == PGRES_COMMAND_OK, connection);
	PQclear(result);
}

static void drain(PGconn *connection)
{
	must(PQpipelineSync(connection), connection);
	for (;;) {
		PGresult *result = PQgetResult(connection);
		int last = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
		PQclear(result);
		if (last)
			return;
	}
}

int main(int count, char **arguments)
{
	(void)arguments;
	PGconn *connection = PQconnectdb("host=127.0.0.1 port=18526 user=postgres dbname=postgres");
	must(PQstatus(connection) == CONNECTION_OK, connection);
	PQclear(PQexec(connection, "create temp table t(a int, b text)"));
	PQclear(PQexec(connection, "begin"));
	if (count > 1)
		must(PQenterPipelineMode(connection), connection);
	for (int number = 1; number <= 15000; number++) {
		char text[16];
		const char *values[] = {text};
		snprintf(text, sizeof(text), "%d", number);
		if (count == 1)
			insert_and_wait(connection, values);
		else
			must(PQsendQueryParams(connection, INSERT, 1, NULL, values, NULL, NULL, 0), connection);
		if (count > 1 && number % 500 == 0)
			drain(connection);
	}
	if (count > 1)
		must(PQexitPipelineMode(connection), connection);
	PQclear(PQexec(connection, "commit"));
	PQfinish(connection);
	return 0;
}
