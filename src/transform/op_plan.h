// The values that one op drew for one sample.
//
// Each op defines a struct for them in its own file. The struct is copied into the plan as plain bytes, so that a new
// op changes no shared type, and a plan can be sent to a device or to another process. It is a value without pointers.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock {

class OpPlan {
 public:
  static constexpr std::size_t kMaxBytes = 40;

  OpPlan() = default;

  template <typename Plan>
  static OpPlan of(const Plan& plan) {
    static_assert(std::is_trivially_copyable_v<Plan> && !std::is_pointer_v<Plan> && sizeof(Plan) <= kMaxBytes);
    OpPlan made;
    std::memcpy(made.bytes_.data(), &plan, sizeof plan);
    made.size_ = sizeof plan;
    return made;
  }

  // `Plan` must be the type that was passed to of().
  template <typename Plan>
  Plan as() const {
    static_assert(std::is_trivially_copyable_v<Plan> && std::is_default_constructible_v<Plan>);
    assert(size_ == sizeof(Plan));
    Plan plan;
    std::memcpy(&plan, bytes_.data(), sizeof plan);
    return plan;
  }

 private:
  std::array<std::byte, kMaxBytes> bytes_{};
  std::uint8_t size_ = 0;  // 0: the op draws nothing
};

}  // namespace penstock
