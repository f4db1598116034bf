// SPDX-License-Identifier: GPL-2.0-or-later
// Names that need demangling, and templates inlined across files: what the symbol tests look up.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace shapes
{
template <typename T> struct box {
	T width, height;
	T area() const
	{
		return width * height;
	}
	__attribute__((noinline)) T perimeter(T scale = 1) const
	{
		return (width + height) * 2 * scale;
	}
};
} // namespace shapes

__attribute__((noinline)) double total(const std::vector<shapes::box<double>> &boxes)
{
	double sum = 0;

	for (const auto &box : boxes)
		sum += box.area() + box.perimeter(0.5);
	return sum;
}

int main(int argc, char **)
{
	std::vector<shapes::box<double>> boxes;
	std::map<std::string, int> names;

	for (int i = 0; i < 100; i++) {
		boxes.push_back({ i * 1.0, argc * 2.0 });
		names[std::to_string(i % 7)] += i;
	}
	std::sort(boxes.begin(), boxes.end(),
		  [](const auto &a, const auto &b) { return a.area() < b.area(); });
	std::printf("%f %zu\n", total(boxes), names.size());
	return 0;
}
