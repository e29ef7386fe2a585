/* CRC-32C in three ways. */
#ifndef SUMS_H
#define SUMS_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t sum_function(const unsigned char *bytes, size_t length);

void make_tables(void);
sum_function crc_by_table, crc_by_slices, crc_by_instruction;
/* The instruction is there from SSE 4.2 on. */
int has_instruction(void);

#endif
