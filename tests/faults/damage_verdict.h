// Loads an epoch of a file that may be damaged, and judges what came of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/loader.h"

namespace penstock {

// What a sample held: every field's type, shape and bytes, by the sample's key.
using SampleContents = std::map<std::string, std::string>;

enum class Verdict : std::uint8_t {
  kNoticedAtOpen,
  kNoticedAtSample,
  kHarmless,  // every sample was delivered, with the content that it had
  kSilent,    // wrong content was delivered, or samples are missing and nobody was told
};

struct Judgement {
  Verdict verdict = Verdict::kHarmless;
  std::vector<Error> errors;
  std::vector<std::string> warnings;
  SampleContents delivered;
  std::string why;  // silent: what was wrong
  bool counts_balance = true;
};

// Errors that do not say where the trouble is: uri, offset, length and, once a sample is known, which one.
bool says_where(const Error& error, bool at_sample);

// `expected` empty: the file is whole, and what it delivers is taken as it comes.
Judgement judge(const std::string& path, OpenOptions options, unsigned threads,
                const SampleContents& expected);

}  // namespace penstock
