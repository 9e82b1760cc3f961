#include "source/combine/forwarding_source.h"

#include <gtest/gtest.h>

#include "source/extent.h"
#include "source/mixture.h"
#include "source/source_storage.h"
#include "support/run_loader.h"

namespace penstock {
namespace {

class Backwards final : public ForwardingSource {
 public:
  explicit Backwards(SourcePtr source) : ForwardingSource(std::move(source)) {}

 protected:
  std::uint64_t sample_behind(std::uint64_t sample) const override { return size() - 1 - sample; }
};

TEST(ForwardingSource, answers_as_the_source_behind_it) {
  const SourcePtr numbers = source_of_numbers(5);
  const Backwards backwards(numbers);
  EXPECT_EQ(backwards.size(), 5u);
  EXPECT_EQ(backwards.kind(), numbers->kind());
  EXPECT_EQ(backwards.uri(), numbers->uri());
  EXPECT_EQ(backwards.fingerprint(), numbers->fingerprint());
  EXPECT_EQ(&backwards.storage(), &numbers->storage());
  EXPECT_EQ(backwards.array_layout(0), numbers->array_layout(0));
  EXPECT_EQ(backwards.draws(), nullptr);
}

TEST(ForwardingSource, translates_the_numbers_of_samples) {
  const SourcePtr numbers = source_of_numbers(5);
  const Backwards backwards(numbers);
  EXPECT_EQ(backwards.key(0), numbers->key(4));
  EXPECT_EQ(backwards.extent(1, 0)->offset, numbers->extent(3, 0)->offset);
  EXPECT_EQ(backwards.extent(1, 0)->store, numbers->extent(3, 0)->store);
  EXPECT_EQ(backwards.stored_bytes_of(2), numbers->stored_bytes_of(2));
}

TEST(ForwardingSource, a_mixture_stays_one_under_other_names) {
  const auto mixed = mix({source_of_numbers(3), source_of_numbers(4)}, {1, 3});
  ASSERT_TRUE(mixed);
  const auto renamed = rename_fields(*mixed, {{"array", "number"}});
  ASSERT_TRUE(renamed);
  EXPECT_EQ((*renamed)->fields().front().name, "number");
  ASSERT_NE((*renamed)->mixture(), nullptr);
  EXPECT_EQ((*renamed)->mixture()->sizes, (std::vector<std::uint64_t>{3, 4}));
}

}  // namespace
}  // namespace penstock
