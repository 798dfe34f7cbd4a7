// A client of NVIDIA's nvtx3.hpp.
#include <nvtx3/nvtx3.hpp>

struct Domain {
  static constexpr char const* name{"cpp.domain"};
};
struct Message {
  static constexpr char const* message{"registered in C++"};
};
struct Category {
  static constexpr char const* name{"cpp.category"};
  static constexpr uint32_t id{11};
};

void named_like_itself() { NVTX3_FUNC_RANGE_IN(Domain); }

int main() {
  nvtx3::scoped_range outer{"scoped"};
  {
    nvtx3::scoped_range_in<Domain> inner{nvtx3::event_attributes{"with attributes", nvtx3::rgb{255, 0, 128},
                                                                 nvtx3::payload{42u},
                                                                 nvtx3::named_category_in<Domain>::get<Category>()}};
    nvtx3::mark_in<Domain>(nvtx3::registered_string_in<Domain>::get<Message>());
  }
  named_like_itself();
  nvtx3::unique_range unique{"unique"};
  return 3;
}
