// Runs the corpus, and looks at its stacks:
//   calls          where its functions call checkpoint()
//   steps ALL EACH MOST
//                  after each of the first ALL instructions of every function, then after one of EACH, until MOST
//   storm MS       at random moments, MS ms for every function
// LIBRARY is the corpus as a shared library; - says that it is linked in. Then names: only these functions, or, with a
// minus before each, all others.
//   native_oracle calls|steps ALL EACH MOST|storm MS LIBRARY|- [[-]NAME...]
// Prints a line for each difference and one with the numbers; exit status 1 if there is a difference, 2 for other
// reasons.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native_corpus/oracle.h"

extern "C" {
#include "native_corpus/checkpoint.h"
#pragma weak corpus_cases
}

using namespace tprof::oracle;
using tprof::u64;

namespace {

enum class How { calls, steps, storm };
struct Plan {
  How how;
  u64 first = 0, each = 0, most = 0;
};

void run(const CorpusCase& c, const Plan& plan) {
  begin_case(c.name);
  switch (plan.how) {
    case How::calls: c.run(); break;
    case How::steps:
      start_steps(plan.first, plan.each, plan.most);
      c.run();
      stop_steps();
      break;
    case How::storm: storm(c.name, c.run, 200, plan.first, false); storm(c.name, c.run, 200, plan.first, true);
  }
}

// By the words after the library.
bool wanted(const char* name, char** words) {
  bool others = !*words || **words == '-';
  for (; *words; words++)
    if (!strcmp(*words + others, name)) return !others;
  return others;
}

int usage() {
  fputs("usage: native_oracle calls|steps ALL EACH MOST|storm MS LIBRARY|- [[-]NAME...]\n", stderr);
  return 2;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int native_oracle_main(int argc, char** argv) {
  Plan plan;
  int next = 2;
  if (argc < 3) return usage();
  if (!strcmp(argv[1], "calls")) {
    plan.how = How::calls;
  } else if (!strcmp(argv[1], "storm")) {
    plan = {How::storm, strtoull(argv[next], nullptr, 10)};
    next++;
  } else if (!strcmp(argv[1], "steps") && argc > 5) {
    plan = {How::steps, strtoull(argv[2], nullptr, 10), strtoull(argv[3], nullptr, 10), strtoull(argv[4], nullptr, 10)};
    next += 3;
  } else {
    return usage();
  }
  if (next >= argc) return usage();
  begin();
  begin_case("constructors");
  const char* path = argv[next++];
  void* library = nullptr;
  const CorpusCase* cases = corpus_cases;
  if (strcmp(path, "-") != 0) {
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    cases = static_cast<const CorpusCase*>(dlsym(library, "corpus_cases"));
  }
  if (!cases) return fputs("there are no functions\n", stderr), 2;
  u64 steps = 0, ran = 0;
  for (const CorpusCase* c = cases; c->name; c++) {
    if (!wanted(c->name, argv + next)) continue;
    run(*c, plan);
    forget_unmapped();
    ran++;
    if (plan.how == How::steps) steps += steps_done();
  }
  begin_case("destructors");
  if (library) dlclose(library);
  auto number = [](u64 n) { return static_cast<unsigned long long>(n); };
  printf("functions %llu checkpoints %llu frames %llu deepest %llu known %llu steps %llu differences %llu\n",
         number(ran), number(g_tally.checkpoints), number(g_tally.frames), number(g_tally.deepest),
         number(g_tally.known), number(steps), number(g_tally.differences));
  end_cases();
  return g_tally.differences || !ran;
}
