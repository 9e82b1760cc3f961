// The answers of Azure's blob service. They cannot be trusted. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"
#include "store/http/answer_judge.h"

namespace penstock {

struct AzureEntry {
  std::string name;  // of the blob, or of a folder with a '/' at its end
  bool is_folder = false;
  std::uint64_t size = 0;
  std::string etag;  // in its quotes
};

struct AzurePage {
  std::vector<AzureEntry> entries;  // sorted by name
  std::string next;                 // "": this is the last page
};

Result<AzurePage> parse_azure_page(std::string_view xml);

// The list of blocks that make a blob.
std::string azure_block_list(const std::vector<std::string>& ids);

// Reads the codes in the error answers, which are in a header, and decides by them what happens to a request.
class AzureJudge final : public AnswerJudge {
 public:
  Verdict judge(const ServiceAnswer& answer, Verdict usual) override;
};

}  // namespace penstock
