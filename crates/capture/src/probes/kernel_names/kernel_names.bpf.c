/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/* What the kernel calls its own functions, for the kernel's side of stacks. User space runs it; it is on no tracepoint. */

/* The name of the function at an address: the kernel's own table, without reading all of it. */
SEC("syscall")
int symbol(struct ts_symbol *ask)
{
	static const char format[] = "%ps";
	u64 address = ask->address;
	char name[120] = {};

	bpf_snprintf(name, sizeof(name), format, &address, sizeof(address));
	__builtin_memcpy(ask->name, name, sizeof(name));
	return 0;
}
