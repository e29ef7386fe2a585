/* Somebody to ask, who is not recorded: a network of its own with a server in it (rules/peer.h says how to ask).
 *
 * `peer MS`: the way to 10.77.0.2 and on, there and back, takes so many milliseconds. That way is a tun device whose
 * packets come back after their time with their two addresses exchanged, so whoever connects to there meets the
 * server here. It says `ready`, and ends with its input. */
#include "rules/peer.h"
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#define MTU 1500
#define UNDER_WAY 4096

static uint64_t one_way_ns;

/* A packet on its way. */
struct packet {
	uint64_t due_ns;
	size_t bytes;
	unsigned char data[MTU];
};

static void set_up(const char *device, const char *address)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (address) {
		struct sockaddr_in own = peer_at(address, 0), mask = peer_at("255.255.255.0", 0);
		memcpy(&request.ifr_addr, &own, sizeof own);
		must(ioctl(fd, SIOCSIFADDR, &request) == 0);
		memcpy(&request.ifr_netmask, &mask, sizeof mask);
		must(ioctl(fd, SIOCSIFNETMASK, &request) == 0);
	}
	must(ioctl(fd, SIOCGIFFLAGS, &request) == 0);
	request.ifr_flags |= IFF_UP | IFF_RUNNING;
	must(ioctl(fd, SIOCSIFFLAGS, &request) == 0);
	close(fd);
}

static int tunnel(void)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	must(fd >= 0);
	strcpy(request.ifr_name, "far");
	must(ioctl(fd, TUNSETIFF, &request) == 0);
	set_up("far", "10.77.0.1");
	return fd;
}

/* The way: packets come back after their time. */
static void *way(void *device)
{
	static struct packet packets[UNDER_WAY];
	unsigned first = 0, count = 0;
	int fd = *(int *)device;
	for (;;) {
		struct timespec left = { 1, 0 };
		if (count) {
			uint64_t now = now_ns(CLOCK_MONOTONIC), due = packets[first].due_ns;
			uint64_t ns = due > now ? due - now : 0;
			left = (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
		}
		struct pollfd poll = { .fd = fd, .events = POLLIN };
		ppoll(&poll, 1, &left, NULL);
		while (count < UNDER_WAY) {
			struct packet *packet = &packets[(first + count) % UNDER_WAY];
			ssize_t bytes = read(fd, packet->data, MTU);
			if (bytes <= 0)
				break;
			if (bytes < 20 || packet->data[0] >> 4 != 4)
				continue;
			unsigned char own[4];
			memcpy(own, packet->data + 12, 4);
			memcpy(packet->data + 12, packet->data + 16, 4);
			memcpy(packet->data + 16, own, 4);
			packet->bytes = (size_t)bytes;
			packet->due_ns = now_ns(CLOCK_MONOTONIC) + one_way_ns;
			count++;
		}
		while (count && packets[first].due_ns <= now_ns(CLOCK_MONOTONIC)) {
			(void)!write(fd, packets[first].data, packets[first].bytes);
			first = (first + 1) % UNDER_WAY;
			count--;
		}
	}
	return NULL;
}

static int all(int fd, void *into, size_t bytes)
{
	for (size_t got = 0; got < bytes;) {
		ssize_t part = read(fd, (char *)into + got, bytes - got);
		if (part <= 0)
			return 0;
		got += (size_t)part;
	}
	return 1;
}

static int answer(int fd, const struct question *question)
{
	static char zeros[1 << 16];
	for (uint32_t sent = 0; sent < question->answer_bytes;) {
		uint32_t piece = question->answer_bytes - sent;
		if (piece > sizeof zeros)
			piece = sizeof zeros;
		if (question->piece_bytes && piece > question->piece_bytes)
			piece = question->piece_bytes;
		ssize_t part = send(fd, zeros, piece, MSG_NOSIGNAL);
		if (part <= 0)
			return 0;
		sent += (uint32_t)part;
		if (question->pause_us)
			sleep_us(question->pause_us);
	}
	return 1;
}

static void *serve(void *connection)
{
	int fd = (int)(intptr_t)connection;
	struct question question;
	char more[1 << 16];
	while (all(fd, &question, sizeof question)) {
		uint32_t left = question.more_bytes;
		while (left) {
			uint32_t part = left < sizeof more ? left : sizeof more;
			if (!all(fd, more, part))
				break;
			left -= part;
			if (question.read_pause_us)
				sleep_us(question.read_pause_us);
		}
		if (question.work_us)
			sleep_us(question.work_us);
		if (!answer(fd, &question))
			break;
		if (question.close_us != STAYS) {
			sleep_us(question.close_us);
			break;
		}
	}
	close(fd);
	return NULL;
}

/* Names: each is 10.77.0.2. */
static void *names(void *unused_)
{
	(void)unused_;
	struct sockaddr_in own = peer_at("0.0.0.0", 53), dead = peer_at(DEAD_NAMES, 53);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), nobody = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(nobody, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	must(bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
	must(bind(nobody, (struct sockaddr *)&dead, sizeof dead) == 0);
	for (;;) {
		unsigned char packet[512 + 16];
		struct sockaddr_in from;
		socklen_t length = sizeof from;
		ssize_t bytes = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&from, &length);
		if (bytes < 12)
			continue;
		const unsigned char address[16] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 77, 0, 2 };
		/* The type of the question is before its class, which is last. Only addresses of version 4 are known. */
		int known = packet[bytes - 3] == 1;
		packet[2] = 0x81, packet[3] = 0x80;
		memset(packet + 6, 0, 6);
		packet[7] = (unsigned char)known;
		memcpy(packet + bytes, address, sizeof address);
		size_t whole = (size_t)bytes + (known ? sizeof address : 0);
		sendto(fd, packet, whole, 0, (struct sockaddr *)&from, length);
	}
	return NULL;
}

static void *accepting(void *listening)
{
	for (;;) {
		int fd = accept(*(int *)listening, NULL, NULL);
		must(fd >= 0);
		no_delay(fd);
		pthread_t thread;
		must(pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0);
		pthread_detach(thread);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	must(argc == 2);
	one_way_ns = (uint64_t)(atof(argv[1]) * 1e6 / 2);
	must(unshare(CLONE_NEWNET) == 0);
	set_up("lo", NULL);
	int far = tunnel(), listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in own = peer_at("0.0.0.0", PORT);
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	must(bind(listening, (struct sockaddr *)&own, sizeof own) == 0);
	must(listen(listening, 1000) == 0);
	pthread_t thread;
	must(pthread_create(&thread, NULL, way, &far) == 0);
	must(pthread_create(&thread, NULL, names, NULL) == 0);
	must(pthread_create(&thread, NULL, accepting, &listening) == 0);
	puts("ready");
	fflush(stdout);
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
