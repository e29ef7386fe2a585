#include <iostream>

template <typename End> static void print_lines(End end) {
	for (int number = 0; number < 1500000; number++) {
		std::cout << "line " << number;
		end();
	}
}

int main(int count, char **) {
	std::ios::sync_with_stdio(false);
	if (count > 1)
		print_lines([] { std::cout << std::endl; });
	else
		print_lines([] { std::cout << '\n'; });
}
