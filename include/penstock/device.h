// The device whose memory holds an array.
#pragma once

#include <cstdint>

namespace penstock {

// The values are those of DLPack.
enum class DeviceKind : std::uint8_t { kCpu = 1, kCuda = 2 };

// A plain value.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // among devices of this kind

  bool operator==(const Device&) const = default;
};

}  // namespace penstock
