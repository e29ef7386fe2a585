/* Takes a processor from whoever is on it, now and then for milliseconds, as the host of a busy virtual machine does. It
   does so in the timer's interrupt, so that nothing else can run there meanwhile; unlike a host it does not say so, and the
   time counts as that of the thread. */
typedef unsigned int u32;
typedef unsigned long long u64;

static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_prandom_u32)(void) = (void *)7;
static long (*const loop)(u32 times, void *body, void *context, u64 flags) = (void *)181;

char granted[] __attribute__((section("license"))) = "GPL";

/* Of a thousand ticks of a processor that is busy, and for how long; at most MOST_NS, which is defined as this is compiled. */
enum { OFTEN = 60, LEAST_NS = 2000000 };

static long is_over(u32 round, u64 *until)
{
	return ktime_get_ns() >= *until;
}

__attribute__((section("raw_tp/local_timer_entry"), used)) int on_tick(void *context)
{
	u64 until;

	if (get_prandom_u32() % 1000 >= OFTEN)
		return 0;
	until = ktime_get_ns() + LEAST_NS + get_prandom_u32() % (MOST_NS - LEAST_NS);
	loop(1 << 23, is_over, &until, 0);
	return 0;
}
