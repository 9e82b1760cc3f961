#include "store/s3/s3_store.h"

#include <fmt/format.h>

#include "base/text/lower_case.h"
#include "base/text/uri_scheme.h"
#include "penstock/interruption.h"
#include "store/s3/find_credentials.h"
#include "store/s3/s3_answers.h"
#include "store/s3/s3_judge.h"
#include "store/s3/s3_signer.h"
#include "store/s3/s3_writer.h"
#include "store/s3/sigv4.h"
#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxPageBytes = 8 << 20;  // a thousand keys of 1024 bytes, all of them encoded
constexpr int kPageEntries = 1000;

// What the names of the objects below a folder begin with; empty for all objects of a bucket.
std::string folder_prefix(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return name.empty() ? name : name + "/";
}

// A name that ends with '/' marks a folder, and folders without a name cannot be named.
bool is_name_of_entry(std::string_view name) {
  return !name.empty() && !name.starts_with('/') && !name.ends_with('/') && name.find("//") == std::string_view::npos;
}

class S3Store final : public Store {
 public:
  S3Store(std::shared_ptr<const HttpStore> http, std::shared_ptr<const S3Location> location)
      : http_(std::move(http)),
        location_(std::move(location)) {}

  StoreTraits traits() const override {
    StoreTraits traits = http_->traits();
    traits.can_list = traits.can_write = traits.has_versions = true;
    return traits;
  }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override { return http_->open(key); }
  // A folder exists while there is anything in it.
  Result<ObjectVersion> stat(const std::string& key) const override {
    auto version = http_->stat(key);
    if (version || version.error().code != ErrorCode::kNotFound) return version;
    auto name = parse_s3_key(key);
    const auto below = page(key, *name, folder_prefix(name->name), false, 1, {});
    return below && !below->entries.empty() ? ObjectVersion() : std::move(version);
  }
  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    return http_->read(wanted, allocate);
  }
  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    http_->start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
  }

  // By listings, because their answers tell a missing object from a missing bucket in one request. Where listing is
  // forbidden, an object that can be read is one all the same.
  Result<KeyKind> kind_of(const std::string& key) const override {
    auto name = parse_s3_key(key);
    if (!name) return std::unexpected(std::move(name).error());
    const std::string folder = folder_prefix(name->name);
    if (!name->name.empty() && !name->name.ends_with('/')) {
      const auto first = page(key, *name, name->name, false, 1, {});
      if (!first && first.error().code == ErrorCode::kNoAccess && http_->stat(key)) return KeyKind::kObject;
      if (!first) return std::unexpected(first.error());
      if (!first->entries.empty() && first->entries.front().key == name->name) return KeyKind::kObject;
      if (!first->entries.empty() && first->entries.front().key.starts_with(folder)) return KeyKind::kFolder;
      if (first->entries.empty()) return KeyKind::kNothing;
    }
    const auto below = page(key, *name, folder, false, 1, {});
    if (!below) return std::unexpected(below.error());
    return below->entries.empty() && !folder.empty() ? KeyKind::kNothing : KeyKind::kFolder;
  }

  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    auto name = parse_s3_key(key);
    if (!name) return std::unexpected(std::move(name).error());
    const std::string prefix = folder_prefix(name->name);
    RecursiveChoice choice(options);
    std::string token;
    for (bool is_first = true;; is_first = false) {
      PENSTOCK_CHECK(check_interruption(key));
      auto answer = page(key, *name, prefix, !options.is_recursive, kPageEntries, token);
      if (!answer) return std::unexpected(std::move(answer).error());
      if (is_first && answer->entries.empty() && answer->next.empty() && !prefix.empty())
        return fail(ErrorCode::kNotFound, "no such folder", {key, -1, -1, -1});
      auto entries = entries_of(*answer, key, prefix, options, choice);
      if (!entries) return std::unexpected(std::move(entries).error());
      const auto goes_on = take(*std::move(entries));
      if (!goes_on) return std::unexpected(goes_on.error());
      if (!*goes_on || answer->next.empty()) return {};
      if (answer->next == token)
        return fail(ErrorCode::kCorrupt, "the server's listing does not go on", {key, -1, -1, -1});
      token = std::move(answer->next);
    }
  }

  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions&) const override {
    return make_s3_writer(key, http_, location_);
  }

 private:
  Result<S3Page> page(const std::string& key, const S3Key& name, const std::string& prefix, bool is_one_level,
                      int max_entries, const std::string& token) const {
    // The parameters in the order in which they are signed.
    std::string query;
    if (!token.empty()) query += fmt::format("continuation-token={}&", uri_encoded(token, false));
    if (is_one_level) query += "delimiter=%2F&";
    query += fmt::format("encoding-type=url&list-type=2&max-keys={}&prefix={}", max_entries, uri_encoded(prefix, false));
    const auto url = location_->url_of({name.bucket, {}}, query);
    if (!url) return std::unexpected(url.error());
    HttpExchange exchange;
    exchange.key = key;
    exchange.url = url->text();
    exchange.max_answer_bytes = kMaxPageBytes;
    const auto answer = http_->exchange(exchange);
    if (!answer) return std::unexpected(answer.error());
    auto parsed = parse_s3_page(answer->body);
    if (!parsed) parsed.error().where.uri = key;
    return parsed;
  }

  static Result<Listing> entries_of(S3Page& page, const std::string& key, const std::string& prefix,
                                    const ListOptions& options, RecursiveChoice& choice) {
    Listing entries;
    for (S3Entry& found : page.entries) {
      if (!found.key.starts_with(prefix))
        return fail(ErrorCode::kCorrupt, "the server listed what was not asked for", {key, -1, -1, -1});
      std::string name = found.key.substr(prefix.size());
      if (found.is_folder && name.ends_with('/')) name.pop_back();
      if (!is_name_of_entry(name)) continue;
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
  const std::shared_ptr<const S3Location> location_;
};

}  // namespace

Result<std::shared_ptr<const Store>> make_s3_store(const std::string& uri, S3Options options, HttpOptions http) {
  PENSTOCK_CHECK(parse_s3_key(uri));
  auto setup = find_s3_setup(lower_case(uri_scheme(uri)), options);
  if (!setup) return std::unexpected(std::move(setup).error());
  auto location = S3Location::make(std::move(setup->location));
  if (!location) return std::unexpected(std::move(location).error());
  http.server.clear();
  http.userinfo.clear();
  http.query.clear();
  http.headers = std::move(options.headers);
  if (setup->requester_pays) http.headers.push_back("x-amz-request-payer: requester");
  http.url_of_key = [location = *location](const std::string& key) { return location->url_of_key(key); };
  http.signer = std::make_shared<S3Signer>(*location, std::move(setup->credentials));
  http.judge = std::make_shared<S3Judge>(*location);
  auto store = make_http_store(std::move(http));
  if (!store) return std::unexpected(std::move(store).error());
  return std::make_shared<const S3Store>(*std::move(store), *std::move(location));
}

}  // namespace penstock
