#include "support/run_program.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "decode/npy.h"
#include "support/test_worker.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

Result<Tensor> store(const Program& program, const View& value) {
  Tensor tensor{program.spec_of(value), {}};
  tensor.bytes.resize(tensor.spec.bytes());
  PENSTOCK_CHECK(program.store(value, tensor.spec, tensor.bytes));
  return tensor;
}

}  // namespace

Result<Tensor> run_on_image(const std::vector<std::byte>& encoded, const std::vector<Transform>& steps,
                            const RunOptions& options) {
  auto program = Program::compile(steps, {options.kind, options.layout, options.dtype});
  if (!program) return std::unexpected(program.error());
  TestWorker worker(kPlenty);
  worker.context.draws = Draws(options.seed, options.epoch, options.position);
  ImageDecoder decoder;
  if (options.in_two_parts) {
    const auto part = program->plan_fixed_part(encoded, decoder);
    if (!part) return std::unexpected(part.error());
    const auto made = program->run_fixed_part(encoded, decoder, worker.context);
    if (!made) return std::unexpected(made.error());
    std::vector<std::byte> kept(part->spec.bytes());
    copy_view(*made, kept.data(), view_of_array(kept.data(), part->spec));
    TestWorker another(kPlenty);
    another.context.draws = worker.context.draws;
    const auto view = program->run_from_fixed(*part, kept.data(), another.context);
    if (!view) return std::unexpected(view.error());
    return store(*program, *view);
  }
  const auto view = program->run_image(encoded, decoder, worker.context);
  if (!view) return std::unexpected(view.error());
  return store(*program, *view);
}

Result<Tensor> run_on_array(const ArraySpec& spec, const void* data, const std::vector<Transform>& steps,
                            RunOptions options) {
  options.kind = FieldKind::kArray;
  auto program = Program::compile(steps, {options.kind, options.layout, options.dtype});
  if (!program) return std::unexpected(program.error());
  TestWorker worker(kPlenty);
  worker.context.draws = Draws(options.seed, options.epoch, options.position);
  View view = view_of_array(static_cast<const std::byte*>(data), spec);
  PENSTOCK_CHECK(program->run(view, worker.context));
  return store(*program, view);
}

std::vector<std::byte> golden_bytes(const std::string& name) {
  std::ifstream file(std::string(PENSTOCK_GOLDEN_DIR) + "/" + name, std::ios::binary);
  if (!file) {
    std::cerr << "no golden file " << name << "\n";
    std::abort();
  }
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

Tensor golden_array(const std::string& name) {
  const auto bytes = golden_bytes(name);
  const auto header = parse_npy_header(bytes, Limits{});
  if (!header || !check_npy_size(*header, bytes.size())) {
    std::cerr << "bad golden array " << name << "\n";
    std::abort();
  }
  return {header->array, {bytes.begin() + static_cast<std::ptrdiff_t>(header->data_offset), bytes.end()}};
}

}  // namespace penstock
