// Another executor makes the same pixels from plans alone, for a whole batch.
#include "transform/rest_executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/encode_images.h"
#include "support/run_program.h"
#include "support/test_worker.h"
#include "transform/ops/color_jitter.h"
#include "transform/ops/normalize.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

// A sample that was planned and decoded, and that the worker has forgotten: its pixels are in memory of their own.
struct Parked {
  ProgramPlan plan;
  std::vector<std::byte> pixels;
  View view;
};

// Plans and decodes with a worker that is gone afterwards.
Parked park(const Program& program, const Encoded& encoded, const Draws& draws) {
  TestWorker worker(kPlenty);
  ImageDecoder decoder;
  Parked parked;
  const auto header = decoder.open(encoded);
  EXPECT_TRUE(header);
  EXPECT_TRUE(program.plan_image(*header, decoder.can_scale(), draws, parked.plan));
  const auto view = program.decode(parked.plan, *header, decoder, worker.context);
  EXPECT_TRUE(view);
  const int items = view->channels() == 1 ? 1 : 4;
  parked.pixels.resize(static_cast<std::size_t>(view->height() * view->width() * items));
  parked.view = view_of_image(parked.pixels.data(), DType::kUInt8, view->height(), view->width(),
                              static_cast<int>(view->channels()), items, view->width() * items);
  copy_view(*view, parked.pixels.data(), parked.view);
  return parked;
}

// The test double: it works step by step through the whole batch, as a device would, with loops of its own and
// without draws, scratch memory or ops. It knows frames, ColorJitter and Normalize, and makes float32 planes.
class BatchedExecutor final : public RestExecutor {
 public:
  std::vector<Status> run(const Program& program, const ArraySpec& spec,
                          std::span<const DecodedSample> samples) override {
    EXPECT_EQ(spec.dtype, DType::kFloat32);
    std::vector<Image> images;
    for (const DecodedSample& sample : samples) images.push_back(unpack(sample.pixels));
    const std::size_t steps = samples.front().plan->steps().size();
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const StepPlan& plan = samples[i].plan->steps()[step];
        if (plan.is_frame) {
          images[i] = resampled(images[i], plan.frame);
        } else if (std::holds_alternative<ColorJitter>(program.transform_of(plan.first_op))) {
          jitter_pixels(plan.op.as<ColorJitterPlan>(), images[i].pixels.data(), images[i].pixels.size() / 4);
        } else {
          images[i].factors.emplace(std::get<Normalize>(program.transform_of(plan.first_op)));
        }
      }
    for (std::size_t i = 0; i < samples.size(); ++i) write(images[i], samples[i].slot);
    return std::vector<Status>(samples.size());
  }

 private:
  struct Image {
    int width = 0, height = 0;
    std::vector<std::uint8_t> pixels;  // four bytes each
    std::optional<NormalizeFactors> factors;

    std::uint8_t at(int x, int y, int c) const {
      return pixels[static_cast<std::size_t>((y * width + x) * 4 + c)];
    }
  };

  static Image unpack(const View& view) {
    Image image{static_cast<int>(view.width()), static_cast<int>(view.height()), {}, {}};
    for (std::int64_t y = 0; y < view.height(); ++y)
      for (std::int64_t i = 0; i < view.width() * 4; ++i)
        image.pixels.push_back(std::to_integer<std::uint8_t>(view.data[y * view.stride[0] + i]));
    return image;
  }

  // Down first, then across; each output is a sum in the order of its taps.
  static Image resampled(const Image& from, const FramePlan& plan) {
    EXPECT_TRUE(plan.resamples);
    Image out{static_cast<int>(plan.columns.first.size()), static_cast<int>(plan.rows.first.size()), {}, {}};
    out.pixels.resize(static_cast<std::size_t>(out.width * out.height * 4));
    for (int y = 0; y < out.height; ++y) {
      std::vector<float> row(static_cast<std::size_t>(from.width * 4));
      for (int x = 0; x < from.width; ++x)
        for (int c = 0; c < 4; ++c) row[static_cast<std::size_t>(x * 4 + c)] = blend_down(from, plan.rows, y, x, c);
      for (int x = 0; x < out.width; ++x)
        for (int c = 0; c < 4; ++c) {
          const float* weights = plan.columns.weights.data() + x * plan.columns.taps;
          float sum = 0;
          for (int t = 0; t < plan.columns.taps; ++t) {
            const int column = std::min(plan.columns.first[static_cast<std::size_t>(x)] + t, from.width - 1);
            const volatile float product = row[static_cast<std::size_t>(column * 4 + c)] * weights[t];
            sum += product;  // volatile: no fused multiply-add, on any processor
          }
          out.pixels[static_cast<std::size_t>((y * out.width + x) * 4 + c)] =
              static_cast<std::uint8_t>(std::clamp(sum + 0.5f, 0.0f, 255.0f));
        }
    }
    return out;
  }

  // In groups of four taps, as the engine sums: floating-point sums depend on their order.
  static float blend_down(const Image& from, const AxisPlan& rows, int y, int x, int c) {
    const float* weights = rows.weights.data() + y * rows.taps;
    float total = 0;
    for (int group = 0; group < rows.taps; group += 4) {
      float sum = 0;
      for (int t = group; t < std::min(group + 4, rows.taps); ++t) {
        const int row = std::min(rows.first[static_cast<std::size_t>(y)] + t, from.height - 1);
        const volatile float product = weights[t] * static_cast<float>(from.at(x, row, c));
        sum += product;
      }
      total = group == 0 ? sum : sum + total;
    }
    return total;
  }

  static void write(const Image& image, MutableBytes slot) {
    auto* out = reinterpret_cast<float*>(slot.data());
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < image.height; ++y)
        for (int x = 0; x < image.width; ++x) {
          const auto channel = static_cast<std::size_t>(c);
          const volatile float product = static_cast<float>(image.at(x, y, c)) * image.factors->byte_scale[channel];
          *out++ = product + image.factors->bias[channel];
        }
  }
};

const std::vector<Transform>& training_steps() {
  static const std::vector<Transform> steps = {RandomResizedCrop{24, 20}, RandomHorizontalFlip{},
                                               ColorJitter{{0.6, 1.4}, {0.6, 1.4}, {0.6, 1.4}, {-0.1, 0.1}},
                                               Normalize{{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}, std::nullopt}};
  return steps;
}

std::vector<std::vector<std::byte>> run_batch(RestExecutor& executor, const Program& program,
                                              const std::vector<Parked>& batch) {
  const ArraySpec spec = *program.fixed_spec();
  std::vector<std::vector<std::byte>> slots(batch.size(), std::vector<std::byte>(spec.bytes()));
  std::vector<DecodedSample> samples;
  for (std::size_t i = 0; i < batch.size(); ++i) samples.push_back({&batch[i].plan, batch[i].view, slots[i]});
  for (const Status& status : executor.run(program, spec, samples)) EXPECT_TRUE(status);
  return slots;
}

TEST(RestExecutor, another_executor_makes_the_same_pixels_from_plans_alone) {
  const auto program = Program::compile(training_steps(), {});
  ASSERT_TRUE(program);
  const Encoded images[] = {encode_jpeg(make_picture(90, 70, 3, 1)), encode_png(make_picture(40, 61, 3, 2)),
                            encode_jpeg(make_picture(15, 12, 3, 3))};
  std::vector<Parked> batch;
  for (std::uint64_t position = 0; position < 24; ++position) {
    batch.push_back(park(*program, images[position % 3], Draws(5, 1, position)));
    ASSERT_TRUE(program->is_whole(batch.back().plan));
  }
  BatchedExecutor batched;
  TestWorker worker(kPlenty);
  CpuRestExecutor one_by_one(worker.context);
  const auto a = run_batch(batched, *program, batch), b = run_batch(one_by_one, *program, batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto whole = run_on_image(images[i % 3], training_steps(),
                                    {.layout = Layout::kNchw, .seed = 5, .epoch = 1, .position = i});
    ASSERT_TRUE(whole);
    EXPECT_EQ(b[i], whole->bytes) << "the stages apart, sample " << i;
    EXPECT_EQ(a[i], whole->bytes) << "the other executor, sample " << i;
  }
}

TEST(RestExecutor, a_sample_that_fails_leaves_the_others_alone) {
  const auto program = Program::compile({Decode{}, CenterCrop{8, 8}, RandomErasing{1, 0.1, 0.1, 1, 1, {1, 2, 3}}}, {});
  const Encoded image = encode_png(make_picture(20, 20, 3, 2));
  std::vector<Parked> batch;
  for (std::uint64_t i = 0; i < 3; ++i) batch.push_back(park(*program, image, Draws(0, 0, i)));
  batch[1].view.shape[2] = 1;  // a value that does not fit the program
  const ArraySpec spec{DType::kUInt8, {3, 8, 8}};
  std::vector<std::byte> slot(spec.bytes());
  std::vector<DecodedSample> samples;
  for (const Parked& one : batch) samples.push_back({&one.plan, one.view, slot});
  TestWorker worker(kPlenty);
  const auto statuses = CpuRestExecutor(worker.context).run(*program, spec, samples);
  ASSERT_EQ(statuses.size(), 3u);
  EXPECT_TRUE(statuses[0]);
  EXPECT_FALSE(statuses[1]);
  EXPECT_TRUE(statuses[2]);
}

}  // namespace
}  // namespace penstock
