/* The table of the corpus's functions. */
#include "checkpoint.h"

volatile long g_sink;

#define CASE(name) void corpus_##name(void);
#include "cases.def"
#undef CASE

#define CASE(name) {#name, corpus_##name},
const struct CorpusCase corpus_cases[] = {
#include "cases.def"
    {0, 0}};
