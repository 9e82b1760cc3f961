#include "arrays.h"

#include <nanobind/ndarray.h>
#include <unistd.h>

#include <vector>

namespace nb = nanobind;

namespace penstock::python {
namespace {

struct Owner {
  std::shared_ptr<void> memory;
  pid_t process;
};

// In a forked child the locks of the loader may be in any state, so the memory is not given back there.
void release_owner(void* pointer) noexcept {
  auto* owner = static_cast<Owner*>(pointer);
  if (owner->process == getpid()) delete owner;
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [&](Code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(dtype)),
                             1};
  };
  switch (dtype) {
    case DType::kBool: return make(Code::Bool);
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64: return make(Code::UInt);
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return make(Code::Int);
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64: return make(Code::Float);
    case DType::kBFloat16: return make(Code::Bfloat);
    case DType::kComplex64:
    case DType::kComplex128: return make(Code::Complex);
  }
  return make(Code::UInt);
}

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i)
    if (dlpack_type(static_cast<DType>(i)) == type) return static_cast<DType>(i);
  return std::nullopt;
}

template <typename Framework>
nb::object make_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner) {
  const nb::capsule capsule(new Owner{std::move(owner), getpid()}, release_owner);
  const std::vector<std::size_t> shape(spec.shape.begin(), spec.shape.end());
  nb::ndarray<Framework> array(data, shape.size(), shape.data(), capsule, nullptr, dlpack_type(spec.dtype));
  return nb::cast(array, nb::rv_policy::reference);
}

}  // namespace

nb::object numpy_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner) {
  return make_array<nb::numpy>(data, spec, std::move(owner));
}

nb::object dlpack_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner) {
  return make_array<nb::array_api>(data, spec, std::move(owner));
}

Result<OwnedArray> array_from_python(nb::handle value) {
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(value);
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> view;
  if (!nb::try_cast(array, view)) return fail(ErrorCode::kCallback, "Map must return an array of numbers");
  const auto dtype = dtype_of(view.dtype());
  if (!dtype) return fail(ErrorCode::kCallback, "Map returned an array of a type that is not read");
  OwnedArray out;
  out.spec.dtype = *dtype;
  for (std::size_t i = 0; i < view.ndim(); ++i)
    out.spec.shape.push_back(static_cast<std::int64_t>(view.shape(i)));
  // ascontiguousarray has made an array of shape (1,) from a bare number.
  if (nb::cast<int>(nb::module_::import_("numpy").attr("ndim")(value)) == 0) out.spec.shape.clear();
  auto* kept = new nb::object(array);
  out.data = std::shared_ptr<const void>(view.data(), [kept](const void*) {
    nb::gil_scoped_acquire gil;
    delete kept;
  });
  return out;
}

}  // namespace penstock::python
