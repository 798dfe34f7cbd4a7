// Loops of all kinds, with and without sense, as streams of tokens to the step detector.
#include <string_view>

#include "scratch.h"
#include "unit/step_game.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const char* const kSources[] = {"auto", "auto", "optimizer", "dataloader", "backward:2", "range:x"};
  constexpr std::string_view kTokens = "DEdeIFGHfgMVvWwNnBb<>O()opqAZP{}UuSRX";
  constexpr size_t kLongest = 2000;
  if (size < 1) return 0;
  test::Game game(kSources[data[0] / 2 % std::size(kSources)]);
  game.d.optimizers_exist(data[0] % 2);
  for (size_t i = 1; i < std::min(size, kLongest); i++) game.play(std::string(1, kTokens[data[i] % kTokens.size()]));
  game.play(".");
  fuzz::require(game.out.broken.empty(), game.out.broken + ": " + game.tokens);
  return 0;
}
