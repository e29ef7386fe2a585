/*
 * A store of biological sequences: records of fixed size, found by halves, and a dictionary of terms beside them.
 */
#ifndef SEQSTORE_H
#define SEQSTORE_H

struct seqstore;

/* When the dictionary is loaded: as the store is opened, or by the first question that needs it. */
enum seqstore_load { SEQSTORE_AT_ONCE, SEQSTORE_WHEN_NEEDED };

/* Opens sequences.dat in this folder, with this file as dictionary. Ends the program if that cannot be done. */
struct seqstore *seqstore_open(const char *folder, const char *dictionary, enum seqstore_load load);

/* The length of a sequence; -1 if there is none with this number. */
long seqstore_length(struct seqstore *store, unsigned gi);

/* What a term means; NULL if it is not in the dictionary. */
const char *seqstore_definition(struct seqstore *store, const char *term);

void seqstore_close(struct seqstore *store);

#endif
