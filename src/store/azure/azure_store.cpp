#include "store/azure/azure_store.h"

#include <fmt/format.h>

#include "penstock/interruption.h"
#include "store/azure/azure_answers.h"
#include "store/azure/azure_location.h"
#include "store/azure/azure_signer.h"
#include "store/azure/azure_writer.h"
#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxAzurePageBytes = 32 << 20;  // five thousand names of 1024 letters, and their properties
constexpr int kAzurePageEntries = 5000;

std::string folder_prefix_of(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return name.empty() ? name : name + "/";
}

// A name that ends with '/' marks a folder, and folders without a name cannot be named.
bool is_blob_name(std::string_view name) {
  return !name.empty() && !name.starts_with('/') && !name.ends_with('/') && !name.contains("//");
}

class AzureStore final : public Store {
 public:
  AzureStore(std::shared_ptr<const HttpStore> http, AzureLocation location)
      : http_(std::move(http)),
        location_(std::move(location)) {}

  StoreTraits traits() const override {
    StoreTraits traits = http_->traits();
    traits.can_list = traits.can_write = traits.has_versions = true;
    return traits;
  }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override { return http_->open(key); }
  Result<ObjectVersion> stat(const std::string& key) const override { return http_->stat(key); }
  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    return http_->read(wanted, allocate);
  }
  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    http_->start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
  }

  // By listings, because their answers tell a missing blob from a missing container. Where listing is forbidden, a blob
  // that can be read is one all the same.
  Result<KeyKind> kind_of(const std::string& key) const override {
    const auto name = parse_azure_key(key);
    if (!name) return std::unexpected(name.error());
    const std::string folder = folder_prefix_of(name->blob);
    if (!name->blob.empty() && !name->blob.ends_with('/')) {
      const auto first = page(key, *name, name->blob, false, 1, {});
      if (!first && first.error().code == ErrorCode::kNoAccess && http_->stat(key)) return KeyKind::kObject;
      if (!first) return std::unexpected(first.error());
      if (!first->entries.empty() && first->entries.front().name == name->blob) return KeyKind::kObject;
      if (!first->entries.empty() && first->entries.front().name.starts_with(folder)) return KeyKind::kFolder;
      if (first->entries.empty() && first->next.empty()) return KeyKind::kNothing;
    }
    const auto below = page(key, *name, folder, false, 1, {});
    if (!below) return std::unexpected(below.error());
    return below->entries.empty() && below->next.empty() && !folder.empty() ? KeyKind::kNothing : KeyKind::kFolder;
  }

  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    const auto name = parse_azure_key(key);
    if (!name) return std::unexpected(name.error());
    const std::string prefix = folder_prefix_of(name->blob);
    RecursiveChoice choice(options);
    std::string marker;
    bool is_empty = true;
    while (true) {
      PENSTOCK_CHECK(check_interruption(key));
      auto answer = page(key, *name, prefix, !options.is_recursive, kAzurePageEntries, marker);
      if (!answer) return std::unexpected(std::move(answer).error());
      is_empty = is_empty && answer->entries.empty();
      // The service may answer with empty pages before the last one.
      if (is_empty && answer->next.empty() && !prefix.empty()) return fail(ErrorCode::kNotFound, "no such folder", {key, -1, -1, -1});
      auto entries = entries_of(*answer, key, prefix, options, choice);
      if (!entries) return std::unexpected(std::move(entries).error());
      const auto goes_on = take(*std::move(entries));
      if (!goes_on) return std::unexpected(goes_on.error());
      if (!*goes_on || answer->next.empty()) return {};
      if (answer->next == marker) return fail(ErrorCode::kCorrupt, "the server's listing does not go on", {key, -1, -1, -1});
      marker = std::move(answer->next);
    }
  }

  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions&) const override {
    return make_azure_writer(key, http_, location_);
  }

 private:
  Result<AzurePage> page(const std::string& key, const AzureKey& name, const std::string& prefix, bool is_one_level,
                         int max_entries, const std::string& marker) const {
    std::string query = "restype=container&comp=list";
    if (!prefix.empty()) query += "&prefix=" + uri_encoded(prefix, false);
    if (is_one_level) query += "&delimiter=%2F";
    query += fmt::format("&maxresults={}", max_entries);
    if (!marker.empty()) query += "&marker=" + uri_encoded(marker, false);
    const auto url = location_.url_of({name.container, {}}, query);
    if (!url) return std::unexpected(url.error());
    HttpExchange exchange;
    exchange.key = key;
    exchange.url = url->text();
    exchange.max_answer_bytes = kMaxAzurePageBytes;
    const auto answer = http_->exchange(exchange);
    if (!answer) return std::unexpected(answer.error());
    auto parsed = parse_azure_page(answer->body);
    if (!parsed) parsed.error().where.uri = key;
    return parsed;
  }

  static Result<Listing> entries_of(AzurePage& page, const std::string& key, const std::string& prefix,
                                    const ListOptions& options, RecursiveChoice& choice) {
    Listing entries;
    for (AzureEntry& found : page.entries) {
      if (!found.name.starts_with(prefix))
        return fail(ErrorCode::kCorrupt, "the server listed what was not asked for", {key, -1, -1, -1});
      std::string name = found.name.substr(prefix.size());
      if (found.is_folder && name.ends_with('/')) name.pop_back();
      if (!is_blob_name(name)) continue;
      const bool is_wanted =
          options.is_recursive ? choice.wants(name) : !options.wants || options.wants(name, found.is_folder);
      if (!is_wanted) continue;
      FolderEntry entry{std::move(name), found.is_folder, std::nullopt};
      if (!entry.is_folder && options.wants_version && options.wants_version(entry.name))
        entry.version = ObjectVersion{found.size, version_of_etag(found.etag)};
      PENSTOCK_CHECK(entries.add(std::move(entry), key));
    }
    return entries;
  }

  const std::shared_ptr<const HttpStore> http_;
  const AzureLocation location_;
};

}  // namespace

Result<std::shared_ptr<const Store>> make_azure_store(const std::string& uri, AzureOptions options, HttpOptions http) {
  if (uri.contains('?'))
    return fail(ErrorCode::kInvalidArgument, "az:// takes no query; give a shared access signature by AZURE_STORAGE_SAS_TOKEN",
                {uri.substr(0, uri.find('?')), -1, -1, -1});
  if (const auto name = parse_azure_key(uri); !name) return std::unexpected(name.error());
  auto location = AzureLocation::make(options);
  if (!location) return std::unexpected(std::move(location).error());
  auto signer = AzureSigner::make(*location, options.account_key);
  if (!signer) return std::unexpected(std::move(signer).error());
  http.server.clear();
  http.userinfo.clear();
  http.query.clear();
  http.headers = std::move(options.headers);
  http.url_of_key = [location = *location](const std::string& key) -> Result<HttpUrl> {
    const auto name = parse_azure_key(key);
    if (!name) return std::unexpected(name.error());
    return location.url_of(*name);
  };
  http.signer = *std::move(signer);
  http.judge = std::make_shared<AzureJudge>();
  auto store = make_http_store(std::move(http));
  if (!store) return std::unexpected(std::move(store).error());
  return std::make_shared<const AzureStore>(*std::move(store), *std::move(location));
}

}  // namespace penstock
