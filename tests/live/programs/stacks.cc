// Known chains in C++: main -> outer -> middle -> a leaf, on a processor and in several kinds of wait, through a template, a
// virtual function and a function object; the leaf of one of them is left by an exception. In the first thread and another.
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

namespace known {

using namespace std::chrono_literals;

static volatile unsigned long sink;

struct Kind {
	virtual void run() = 0;
	virtual ~Kind() {}
};

struct InCpu : Kind {
	KEPT void run() override
	{
		auto start = std::chrono::steady_clock::now();
		while (std::chrono::steady_clock::now() - start < 300ms)
			for (int i = 0; i < 100000; i++)
				sink = sink * 31 + i;
	}
};

struct InSleep : Kind {
	KEPT void run() override
	{
		std::this_thread::sleep_for(30ms);
		throw std::runtime_error("enough");
	}
};

struct InSocket : Kind {
	KEPT void run() override
	{
		int ends[2];
		char byte;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
			throw std::runtime_error("no socket");
		std::thread writer([&] {
			std::this_thread::sleep_for(30ms);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		});
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		writer.join();
	}
};

struct InCondition : Kind {
	KEPT void run() override
	{
		std::mutex lock;
		std::condition_variable never;
		std::unique_lock<std::mutex> held(lock);
		never.wait_for(held, 30ms);
		sink = sink + 1;
	}
};

struct InFlush : Kind {
	std::string path;
	explicit InFlush(const char *folder) : path(std::string(folder) + "/flushed") {}
	KEPT void run() override
	{
		int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
		if (fd < 0 || write(fd, "a line\n", 7) != 7 || fsync(fd) != 0)
			_exit(1);
		close(fd);
	}
};

template <typename After> KEPT void middle(Kind &kind, After after)
{
	char room[512];
	room[sink % sizeof room] = 1;
	try {
		kind.run();
	} catch (const std::runtime_error &enough) {
		sink = sink + enough.what()[0];
	}
	after(room[sink % sizeof room]);
}

KEPT void outer(const char *folder)
{
	auto after = [](char c) { sink = sink + c; };
	InCpu cpu;
	InSleep sleep;
	InSocket socket;
	InCondition condition;
	InFlush flush(folder);
	for (Kind *kind : {(Kind *)&cpu, (Kind *)&sleep, (Kind *)&socket, (Kind *)&condition, (Kind *)&flush})
		middle(*kind, after);
}

} // namespace known

int main(int, char **argv)
{
	known::outer(argv[1]);
	std::thread([=] { known::outer(argv[1]); }).join();
}
