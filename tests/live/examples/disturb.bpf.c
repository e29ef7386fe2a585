/* Takes a processor from whoever is on it, now and then for milliseconds, as the host of a busy virtual machine does. It
   does so in the timer's interrupt, so that nothing else can run there meanwhile; unlike a host it does not say so, and the
   time counts as that of the thread. */
typedef unsigned int u32;
typedef unsigned long long u64;

static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_prandom_u32)(void) = (void *)7;
static long (*const loop)(u32 times, void *body, void *context, u64 flags) = (void *)181;

char granted[] __attribute__((section("license"))) = "GPL";

/* Of a thousand ticks of a processor that is busy, and for how long: written by who loads this. */
volatile const u32 often __attribute__((section(".rodata"))) = 60;
volatile const u64 least_ns __attribute__((section(".rodata"))) = 2000000;
volatile const u64 most_ns __attribute__((section(".rodata"))) = 16000000;

struct until {
	u64 ns;
};

static long is_over(u32 round, struct until *until)
{
	return ktime_get_ns() >= until->ns;
}

__attribute__((section("raw_tp/local_timer_entry"), used)) int on_tick(void *context)
{
	struct until until;

	if (get_prandom_u32() % 1000 >= often)
		return 0;
	until.ns = ktime_get_ns() + least_ns + get_prandom_u32() % (most_ns - least_ns);
	loop(1 << 23, is_over, &until, 0);
	return 0;
}
