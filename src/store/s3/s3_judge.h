// Reads the codes in the error answers of S3, and decides by them what happens to a request.
#pragma once

#include <memory>

#include "store/http/answer_judge.h"
#include "store/s3/s3_location.h"

namespace penstock {

class S3Judge final : public AnswerJudge {
 public:
  explicit S3Judge(std::shared_ptr<S3Location> location) : location_(std::move(location)) {}

  Verdict judge(const ServiceAnswer& answer, Verdict usual) override;

 private:
  const std::shared_ptr<S3Location> location_;
};

}  // namespace penstock
