/*
 * The store's remote interface: answers calls over CGI, one a process, or over FastCGI, where it stays.
 *
 *   seqrem                as CGI, started by a web server
 *   seqrem PORT           as FastCGI, listening there
 *
 * SEQSTORE is the folder of the store, SEQSTORE_DICTIONARY the file to take as dictionary, SEQSTORE_LOAD says
 * "needed" if it is to be loaded only then.
 */
#include <fcgi_stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seqstore.h"

static const char *setting(const char *name, const char *usual)
{
	const char *value = getenv(name);

	return value ? value : usual;
}

static struct seqstore *open_store(void)
{
	const char *load = setting("SEQSTORE_LOAD", "");

	return seqstore_open(setting("SEQSTORE", "."), setting("SEQSTORE_DICTIONARY", "dictionary.txt"),
			     strcmp(load, "needed") ? SEQSTORE_AT_ONCE : SEQSTORE_WHEN_NEEDED);
}

/* What stands behind this name in the call, up to the next; the call is cut there. */
static char *argument(char *call, const char *name)
{
	char *found = strstr(call, name);

	if (!found)
		return NULL;
	found += strlen(name);
	found[strcspn(found, "&")] = 0;
	return found;
}

static void answer(struct seqstore *store, char *call)
{
	char *gis = argument(call, "gi="), *term = argument(call, "term=");
	static char text[65536];
	size_t used = 0;

	if (term) {
		const char *definition = seqstore_definition(store, term);

		used += (size_t)snprintf(text, sizeof(text), "%s\n", definition ? definition : "unknown");
	}
	for (char *gi = gis ? strtok(gis, ",") : NULL; gi && used < sizeof(text) - 32; gi = strtok(NULL, ","))
		used += (size_t)sprintf(text + used, "%ld\n", seqstore_length(store, (unsigned)strtoul(gi, NULL, 10)));
	printf("Content-Type: text/plain\r\nContent-Length: %lu\r\n\r\n", (unsigned long)used);
	fwrite(text, 1, used, stdout);
}

int main(int argc, char **argv)
{
	struct seqstore *store;
	static char call[65536];

	if (argc > 1) {
		int socket = FCGX_OpenSocket(argv[1], 16);

		if (socket < 0 || dup2(socket, 0) < 0)
			return 1;
	}
	store = open_store();
	while (FCGI_Accept() >= 0) {
		size_t length = strtoul(setting("CONTENT_LENGTH", "0"), NULL, 10);

		if (length >= sizeof(call))
			length = sizeof(call) - 1;
		length = fread(call, 1, length, stdin);
		call[length] = 0;
		answer(store, call);
	}
	seqstore_close(store);
	return 0;
}
