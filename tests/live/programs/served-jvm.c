/* What timesink knows Java's virtual machine by, and nothing of it: `served.c` maps something else over a part of it. */
#define PAGE __attribute__((aligned(4096)))
PAGE unsigned long gHotSpotVMStructs = 1;
unsigned long filler[511];
unsigned long gHotSpotVMTypes = 1, gHotSpotVMStructEntryTypeNameOffset = 0, gHotSpotVMStructEntryFieldNameOffset = 8,
	      gHotSpotVMStructEntryOffsetOffset = 24, gHotSpotVMStructEntryAddressOffset = 32,
	      gHotSpotVMStructEntryArrayStride = 48, gHotSpotVMTypeEntryTypeNameOffset = 0,
	      gHotSpotVMTypeEntrySizeOffset = 16, gHotSpotVMTypeEntryArrayStride = 32;

int of_the_machine(int x)
{
	return x + 1;
}
