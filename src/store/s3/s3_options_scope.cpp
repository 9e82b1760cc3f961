#include "store/s3/s3_options_scope.h"

namespace penstock {
namespace {

const S3OptionsScope*& innermost_options() {
  thread_local const S3OptionsScope* innermost = nullptr;
  return innermost;
}

}  // namespace

S3OptionsScope::S3OptionsScope(S3Options options) : options_(std::move(options)), outer_(innermost_options()) {
  innermost_options() = this;
}

S3OptionsScope::~S3OptionsScope() { innermost_options() = outer_; }

S3Options S3OptionsScope::current() {
  const S3OptionsScope* const scope = innermost_options();
  return scope == nullptr ? S3Options() : scope->options_;
}

}  // namespace penstock
