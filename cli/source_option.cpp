#include "source_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks.h"
#include "order/epoch_order.h"
#include "penstock/stage.h"
#include "pipeline/order_plan.h"
#include "progress_bar.h"
#include "source/combine/subset.h"
#include "source/source_formats.h"
#include "source/source_storage.h"
#include "store/http/http_url.h"

namespace penstock::cli {
namespace {

constexpr const char* kOnlyPatches =
    "--per-epoch, --labels, --overlap, --region and --axes are for patches; give their size with --patch";
constexpr const char* kOnlyZarr =
    "--variables, --sample-dim, --select, --isel, --window, --gaps and --missing are for Zarr";

struct Opening {
  Result<SourcePtr> source;
  std::vector<std::string> warnings;
  std::vector<Error> bad_shards;
};

// Opens a Zarr store. If it is not Zarr, the general open function gives the better error: it says which kind
// of source it is, or which existing name is similar.
Result<SourcePtr> look_at_zarr(const SourceOption& option, const OpenOptions& otherwise, MissingChunk missing) {
  auto options = to_options(option.zarr);
  if (!options) return std::unexpected(options.error());
  options->headers = option.headers;
  options->missing = missing;
  if (!option.kind.empty() && option.kind != "zarr")
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}, and --kind says {}", kOnlyZarr, option.kind));
  std::vector<std::string> uris = {option.given_uri};
  uris.insert(uris.end(), option.more_stores.begin(), option.more_stores.end());
  auto source = open_zarr(uris, *options);
  if (source || source.error().code != ErrorCode::kNotFound) return source;
  if (uris.size() > 1) {
    source.error().code = ErrorCode::kInvalidArgument;
    source.error().message +=
        " (several URIs are Zarr stores; of other kinds, name several by one pattern in quotes)";
    return source;
  }
  const auto other = open_source(option.given_uri, otherwise);
  if (!other) return std::unexpected(other.error());
  if ((*other)->kind().starts_with("zarr")) return source;  // the store exists, but not the array that was named
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}; this is: {}", kOnlyZarr, (*other)->kind()),
              {option.uri, -1, -1, -1});
}

Result<SourcePtr> look_at_patches(const SourceOption& option, const OpenOptions& opening, MissingChunk missing) {
  if (option.zarr.is_given())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}; --patch cuts volumes", kOnlyZarr));
  if (!option.kind.empty())
    return fail(ErrorCode::kInvalidArgument, "--patch finds out by itself what a volume is; leave out --kind");
  auto options = to_options(option.patch);
  if (!options) return std::unexpected(std::move(options).error());
  options->progress = opening.progress;
  options->headers = option.headers;
  options->missing = missing;
  return open_patches({option.given_uri}, *options);
}

// Returns the value of --missing, or `otherwise` if the option is not given.
MissingChunk missing_of(const SourceOption& option, MissingChunk otherwise) {
  return option.missing == "fill" ? MissingChunk::kFill : option.missing == "error" ? MissingChunk::kError : otherwise;
}

// Opens the source through the folder of --stage, if it is given. The folder lives as long as the source.
Result<SourcePtr> perhaps_staged(const SourceOption& option, const std::function<Result<SourcePtr>()>& open) {
  if (option.stage.empty()) return open();
  const auto folder = StagedFolder::open(option.stage);
  if (!folder) return std::unexpected(folder.error());
  std::vector<std::string> uris = {option.given_uri};
  uris.insert(uris.end(), option.more_stores.begin(), option.more_stores.end());
  return open_staged(*folder, uris, open);
}

Opening look(const SourceOption& option, bool keep_index, bool goes_on, MissingChunk missing) {
  Opening opening;
  OpenOptions options;
  options.kind = option.kind;
  options.keep_index = keep_index;
  options.headers = option.headers;
  missing = missing_of(option, missing);
  ProgressBar bar("looking at " + option.uri, 0, "samples");
  options.progress = [&](std::uint64_t samples) {
    bar.show(samples);
    return true;
  };
  options.warn = [&](const std::string& message) { opening.warnings.push_back(message); };
  if (goes_on) options.on_bad_shard = [&](const Error& error) { opening.bad_shards.push_back(error); };
  const bool is_zarr = option.zarr.is_given() || !option.more_stores.empty() || !option.missing.empty();
  opening.source = perhaps_staged(option, [&]() -> Result<SourcePtr> {
    if (option.patch.is_given()) return look_at_patches(option, options, missing);
    if (option.patch.has_details()) return fail(ErrorCode::kInvalidArgument, kOnlyPatches);
    auto source = is_zarr ? look_at_zarr(option, options, missing) : open_source(option.given_uri, options);
    // Only the opened source tells that it is Zarr.
    if (source && !is_zarr && (*source)->kind().starts_with("zarr") && missing != MissingChunk::kFillIfGone)
      source = look_at_zarr(option, options, missing);
    return source;
  });
  return opening;
}

}  // namespace

void add_source_option(CLI::App& app, SourceOption& option) {
  app.add_option_function<std::string>(
         "URI",
         [&option](const std::string& given) {
           option.given_uri = given;
           option.uri = without_secrets(given);
         },
         fmt::format("A path, pattern or URL of {}; with --patch, of a volume", describe_source_formats(false)))
      ->required()
      ->type_name("");
  app.add_option("STORE", option.more_stores, "More Zarr stores, joined to the first in this order")->type_name("");
  const std::vector<std::string> kinds = source_format_names();
  app.add_option("--kind", option.kind, fmt::format("{}; default: found out", fmt::join(kinds, ", ")))
      ->type_name("KIND")
      ->check(one_of(kinds));
  // A header that comes from the environment is not visible in the list of processes, which every user can
  // read.
  app.add_option("--header", option.headers,
                 "\"Authorization: Bearer ...\" for the server of a URL; again for more. Also read from "
                 "PENSTOCK_HTTP_HEADER")
      ->type_name("HEADER")
      ->allow_extra_args(false)
      ->envname("PENSTOCK_HTTP_HEADER");
  app.add_option("--stage", option.stage, "A local folder that receives a copy of the data while they are read")
      ->type_name("DIR");
  app.add_option("--missing", option.missing,
                 "Chunks that a Zarr store does not have: fill (they are meant) or error; default: asked for once "
                 "more, then filled")
      ->type_name("MODE")
      ->check(one_of({"fill", "error"}));
  add_zarr_option(app, option.zarr);
  add_patch_option(app, option.patch);
}

void add_threads_option(CLI::App& app, unsigned& threads) {
  app.add_option("--threads", threads, "Worker threads; default: all usable cores")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->envname("PENSTOCK_THREADS");
}

Result<SourcePtr> open(const SourceOption& option, Index index, std::vector<Error>* bad_shards,
                       MissingChunk missing) {
  Opening opening = look(option, index != Index::kFresh, bad_shards != nullptr, missing);
  // The saved index agrees with sizes and times, but the bytes themselves have not been compared.
  if (index == Index::kCompared && opening.source && (*opening.source)->storage().index_was_saved) {
    const SourcePtr known = *opening.source;
    opening = look(option, false, bad_shards != nullptr, missing);
    if (opening.source && (*opening.source)->fingerprint() != known->fingerprint())
      opening.bad_shards.push_back(
          {ErrorCode::kChanged,
           fmt::format("the index of an earlier run knows other samples ({}) than there are ({}), "
                       "though no file's size or time has changed",
                       known->size(), (*opening.source)->size()),
           {option.uri, 0, 0, -1},
           false});
  }
  for (const std::string& warning : opening.warnings) fmt::print(stderr, "penstock: warning: {}\n", warning);
  if (bad_shards) *bad_shards = std::move(opening.bad_shards);
  return std::move(opening.source);
}

Result<SourcePtr> with_list_of_samples(SourcePtr source) {
  if (source->draws() == nullptr) return source;
  const auto plan = plan_order(*source, {});
  if (!plan) return std::unexpected(plan.error());
  const auto order = make_epoch_order(*plan, 0);
  std::vector<std::uint64_t> samples(order->size());
  for (std::uint64_t i = 0; i < samples.size(); ++i) samples[i] = order->sample_at(i);
  return choose_samples(std::move(source), std::move(samples));
}

}  // namespace penstock::cli
