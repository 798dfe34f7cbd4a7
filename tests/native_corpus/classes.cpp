// Functions of the corpus: what C++ adds to the frames of C.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "checkpoint.h"

namespace {

struct Shape {
  virtual ~Shape() { checkpoint(); }
  virtual long area(long x) = 0;
};
struct Named {
  virtual ~Named() {}
  virtual long name() = 0;
  long number = 3;
};
struct Square : Shape, Named {
  APART long area(long x) override {
    checkpoint();
    return x * x;
  }
  APART long name() override {  // called through a thunk, which adjusts `this`
    checkpoint();
    return number;
  }
};
APART long sum(Shape& shape, Named& named) { return shape.area(3) + named.name(); }

struct Looks {
  ~Looks() {
    checkpoint();
    AFTER_CALL;
  }
};

APART void throws(int n) {
  if (n == 0) throw std::runtime_error("a message that is too long for the string itself");
  std::string local(50, 'x');
  throws(n - 1);
  g_sink = long(local.size());
}

APART void with_cleanups(int n) {
  Looks first;
  std::string local(size_t(n) + 30, 'y');
  Looks second;
  throws(n);
}

APART void again(int n) {
  try {
    with_cleanups(n);
  } catch (const std::runtime_error&) {
    checkpoint();
    throw;
  }
}

APART void never_throws() noexcept { checkpoint(); }

struct Global {
  Global() { checkpoint(); }
  ~Global() { checkpoint(); }
} g_global;

struct First {
  First() { checkpoint(); }
};
APART First& the_first() {
  static First first;
  return first;
}

}  // namespace

#define CORPUS extern "C" void

CORPUS corpus_virtuals() {
  Square square;
  g_sink = sum(square, square);
}

CORPUS corpus_lambdas() {
  long x = 3;
  std::function<long(long)> function = [&x](long y) {
    checkpoint();
    return x + y;
  };
  g_sink = function(4);
}

CORPUS corpus_catches() {
  try {
    throws(4);
  } catch (...) {
    checkpoint();
    never_throws();
  }
}

CORPUS corpus_cleanups() {
  try {
    with_cleanups(3);
  } catch (const std::exception& e) {
    g_sink = e.what()[0];
    checkpoint();
  }
}

CORPUS corpus_rethrows() {
  try {
    again(2);
  } catch (const std::exception&) {
    try {
      throw 5;
    } catch (int) {
      checkpoint();
    }
  }
}

CORPUS corpus_std_thread() {
  pause_looks();
  std::thread([] {
    thread_begins();
    thread_local Looks at_end;
    try {
      throws(2);
    } catch (const std::exception&) {
      (void)at_end;
      checkpoint();
    }
    thread_ends();
  }).join();
  looks_again();
}

CORPUS corpus_first_use() {
  the_first();
  the_first();
}

CORPUS corpus_std_sort() {
  int numbers[] = {4, 1, 3};
  std::sort(numbers, numbers + 3, [](int x, int y) {
    checkpoint();
    return x < y;
  });
}
