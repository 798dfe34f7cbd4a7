// Ranks of NCCL without torch: argv[1] processes make argv[2] rounds of every operation, and check what they get. With
// argv[3] each round is a step, if tprof is there. The first process is their launcher: it sets RANK and WORLD_SIZE and
// gives them the unique id through a pipe.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "cuda.h"

extern "C" {
struct Id {
  char bytes[128];
};
struct Comm;
int ncclGetUniqueId(Id*);
int ncclCommInitRank(Comm**, int, Id, int);
int ncclCommInitRankConfig(Comm**, int, Id, int, void*);
int ncclCommSplit(Comm*, int color, int key, Comm**, void*);
int ncclCommCount(const Comm*, int*);
int ncclCommUserRank(const Comm*, int*);
int ncclCommDestroy(Comm*);
int ncclGroupStart();
int ncclGroupEnd();
int ncclAllReduce(const void*, void*, size_t, int type, int op, Comm*, Stream);
int ncclReduce(const void*, void*, size_t, int type, int op, int root, Comm*, Stream);
int ncclBroadcast(const void*, void*, size_t, int type, int root, Comm*, Stream);
int ncclAllGather(const void*, void*, size_t, int type, Comm*, Stream);
int ncclReduceScatter(const void*, void*, size_t, int type, int op, Comm*, Stream);
int ncclAlltoAll(const void*, void*, size_t, int type, Comm*, Stream);
int ncclSend(const void*, size_t, int type, int peer, Comm*, Stream);
int ncclRecv(void*, size_t, int type, int peer, Comm*, Stream);
}

enum { kFloat = 7, kSum = 0 };
static int g_wrong;

static void want(const char* what, float found, float expected) {
  if (found == expected) return;
  printf("%s: %g, not %g\n", what, double(found), double(expected));
  g_wrong++;
}

static int run(int rank, int ranks, int rounds, bool steps, const Id& id) {
  auto step = reinterpret_cast<int (*)()>(steps ? dlsym(RTLD_DEFAULT, "tprof_step") : nullptr);
  constexpr size_t kCount = 1 << 15;
  CHECK(cudaSetDevice(0));
  Stream stream;
  CHECK(cudaStreamCreate(&stream));
  float *from, *to;
  void* memory;
  CHECK(cudaMalloc(&memory, kCount * sizeof(float)));
  from = static_cast<float*>(memory);
  CHECK(cudaMalloc(&memory, kCount * sizeof(float)));
  to = static_cast<float*>(memory);
  Comm *world, *half;
  CHECK(ncclCommInitRankConfig(&world, ranks, id, rank, nullptr));
  CHECK(ncclCommSplit(world, rank % 2, rank, &half, nullptr));
  int size = 0, number = 0;
  CHECK(ncclCommCount(half, &size));
  CHECK(ncclCommUserRank(half, &number));
  auto mine = float(rank + 1);
  float sum = 0, half_sum = 0;
  for (int r = 0; r < ranks; r++) sum += float(r + 1), half_sum += r % 2 == rank % 2 ? float(r + 1) : 0;
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int round = 0; round < rounds; round++) {
    for (size_t i = 0; i < kCount; i++) from[i] = mine;
    CHECK(ncclAllReduce(from, to, kCount, kFloat, kSum, world, stream));
    want("all-reduce", to[kCount - 1], sum);
    CHECK(ncclBroadcast(from, to, kCount, kFloat, 1, world, stream));
    want("broadcast", to[kCount - 1], 2);
    CHECK(ncclReduce(from, to, 1000, kFloat, kSum, 0, world, stream));
    if (rank == 0) want("reduce", to[999], sum);
    size_t part = kCount / size_t(ranks);
    CHECK(ncclAllGather(from, to, part, kFloat, world, stream));
    want("all-gather", to[part * size_t(before)], float(before + 1));
    CHECK(ncclReduceScatter(from, to, part, kFloat, kSum, world, stream));
    want("reduce-scatter", to[part - 1], sum);
    CHECK(ncclAlltoAll(from, to, part, kFloat, world, stream));
    want("all-to-all", to[part * size_t(next)], float(next + 1));
    CHECK(ncclAllReduce(from, to, 500, kFloat, kSum, half, stream));
    want("all-reduce of a half", to[499], half_sum);
    CHECK(ncclGroupStart());
    CHECK(ncclAllReduce(from, to, 100, kFloat, kSum, world, stream));
    CHECK(ncclAllReduce(from + 100, to + 100, 200, kFloat, kSum, world, stream));
    CHECK(ncclGroupEnd());
    want("all-reduce of a group", to[250], sum);
    CHECK(ncclGroupStart());
    CHECK(ncclSend(from, 2000, kFloat, next, world, stream));
    CHECK(ncclRecv(to, 2000, kFloat, before, world, stream));
    CHECK(ncclGroupEnd());
    want("receive", to[1999], float(before + 1));
    CHECK(cudaStreamSynchronize(stream));
    if (step) step();
  }
  CHECK(ncclCommDestroy(half));
  CHECK(ncclCommDestroy(world));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  if (rank == 0) printf("nccl_ranks: %d ranks, %d rounds, half of %d, %d wrong\n", ranks, rounds, size, g_wrong);
  return g_wrong != 0;
}

int main(int argc, char** argv) {
  int ranks = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 3;
  const char* given = getenv("NCCL_RANKS_PIPE");
  auto say = [](const char* name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
  };
  Id id;
  if (given) {  // a rank of its own program
    if (read(atoi(given), &id, sizeof id) != long(sizeof id)) return 2;
    return run(atoi(getenv("RANK")), ranks, rounds, argc > 3, id);
  }
  // A launcher, which makes no CUDA call.
  int ends[2];
  if (pipe(ends) != 0) return 2;
  say("WORLD_SIZE", ranks);
  say("NCCL_RANKS_PIPE", ends[0]);
  std::vector<int> children;
  for (int rank = 0; rank < ranks; rank++) {
    say("RANK", rank);
    say("LOCAL_RANK", rank);
    int child = fork();
    if (child == 0) {
      execv("/proc/self/exe", argv);
      _exit(2);
    }
    children.push_back(child);
  }
  CHECK(ncclGetUniqueId(&id));
  for (int rank = 0; rank < ranks; rank++)
    if (write(ends[1], &id, sizeof id) != long(sizeof id)) return 2;
  int wrong = 0;
  for (int child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  return wrong;
}
