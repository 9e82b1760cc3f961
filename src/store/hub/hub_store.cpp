#include "store/hub/hub_store.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <unordered_map>

#include "base/guarded.h"
#include "penstock/interruption.h"
#include "store/hub/hub_answers.h"
#include "store/hub/hub_location.h"
#include "store/hub/hub_token.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxHubPageBytes = 8 << 20;
constexpr std::size_t kMaxKnownVersions = 200'000;

// The commits that revisions named when they were first used.
class HubCommits {
 public:
  std::optional<std::string> find(const std::string& place) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = commits_.find(place);
    return found == commits_.end() ? std::nullopt : std::optional(found->second);
  }
  // The first answer counts, so that two threads that asked at the same time go on with one commit.
  std::string keep(const std::string& place, std::string commit) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return commits_.try_emplace(place, std::move(commit)).first->second;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::string> commits_ PENSTOCK_GUARDED_BY(mutex_);
};

class HubSigner final : public RequestSigner {
 public:
  HubSigner(HubLocation location, std::string token) : location_(std::move(location)), token_(std::move(token)) {}

  Result<std::vector<HttpHeader>> sign(const UnsignedRequest& request, std::chrono::system_clock::time_point) override {
    if (token_.empty() || !location_.has(request.url)) return std::vector<HttpHeader>();
    return std::vector<HttpHeader>{{"Authorization", "Bearer " + token_}};
  }
  bool renew() override { return false; }

 private:
  const HubLocation location_;
  const std::string token_;
};

// The Hub says what is wrong in a header.
class HubJudge final : public AnswerJudge {
 public:
  explicit HubJudge(HubLocation location) : location_(std::move(location)) {}

  Verdict judge(const ServiceAnswer& answer, Verdict usual) override {
    if (answer.status < 400) return usual;
    // Only the Hub knows which files there are: the 404 of a proxy, or of the server with the bytes, must never be taken
    // for a missing chunk of an array.
    const bool is_of_hub = location_.has(answer.url);
    if (usual.code == ErrorCode::kNotFound && usual.next == Verdict::Next::kFail &&
        !(is_of_hub && answer.header("x-error-code") == "EntryNotFound")) {
      usual.code = ErrorCode::kIo;
      usual.message = fmt::format("the server does not find what the request is about (HTTP {})", answer.status);
    }
    if (!is_of_hub) return usual;
    const std::string_view code = answer.header("x-error-code");
    const auto refuse = [&](ErrorCode error, std::string_view what) {
      usual.next = Verdict::Next::kFail;
      usual.code = error;
      usual.message = fmt::format("{} (HTTP {})", what, answer.status);
      return usual;
    };
    if (code == "EntryNotFound") return refuse(ErrorCode::kNotFound, "no such file in the repository");
    if (code == "RevisionNotFound") return refuse(ErrorCode::kInvalidArgument, "the repository has no such revision");
    if (code == "GatedRepo")
      return refuse(ErrorCode::kNoAccess, "the owner of the repository wants its terms to be accepted, on its page");
    if (code == "RepoNotFound" || answer.status == 401)
      return refuse(code.empty() ? ErrorCode::kNoAccess : ErrorCode::kInvalidArgument,
                    "there is no such repository, or it is private and HF_TOKEN gives no access to it");
    return usual;
  }

 private:
  const HubLocation location_;
};

class HubObject final : public Object {
 public:
  HubObject(ObjectVersion version, std::string key, std::shared_ptr<const HttpStore> http)
      : Object(version),
        key_(std::move(key)),
        http_(std::move(http)) {}

  using Object::read_at;

  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::uint64_t wanted = 0;
    for (const MutableBytes part : parts) wanted += part.size();
    if (offset > version().size || wanted > version().size - offset)
      return fail(ErrorCode::kTruncated, fmt::format("object ends at {} bytes", version().size),
                  {key_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1});
    for (const MutableBytes part : parts) {
      if (part.empty()) continue;
      const auto read = http_->read({key_, {offset, part.size(), false}, part.size(), {}},
                                    [&](std::size_t) -> Result<MutableBytes> { return part; });
      if (!read) return std::unexpected(read.error());
      if (read->bytes.size() != part.size())
        return fail(ErrorCode::kTruncated, "the server sent less than was asked for",
                    {key_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(part.size()), -1});
      offset += part.size();
    }
    return {};
  }

 private:
  const std::string key_;
  const std::shared_ptr<const HttpStore> http_;
};

class HubStore final : public Store {
 public:
  HubStore(std::shared_ptr<const HttpStore> http, HubLocation location, std::shared_ptr<HubCommits> commits)
      : http_(std::move(http)),
        location_(std::move(location)),
        commits_(std::move(commits)) {}

  StoreTraits traits() const override {
    StoreTraits traits = http_->traits();
    traits.can_list = traits.has_versions = true;
    return traits;
  }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    const auto version = stat(key);
    if (!version) return std::unexpected(version.error());
    return std::make_unique<HubObject>(*version, key, http_);
  }

  Result<ObjectVersion> stat(const std::string& key) const override {
    if (const auto known = known_version(key)) return *known;
    auto entry = look_up(key);
    if (!entry) return std::unexpected(std::move(entry).error());
    if (!*entry || (*entry)->is_folder) return fail(ErrorCode::kNotFound, "no such file in the repository", {key, -1, -1, -1});
    remember(key, (*entry)->version);
    return (*entry)->version;
  }

  Result<KeyKind> kind_of(const std::string& key) const override {
    if (known_version(key)) return KeyKind::kObject;
    const auto entry = look_up(key);
    if (!entry) return std::unexpected(entry.error());
    if (!*entry) return KeyKind::kNothing;
    return (*entry)->is_folder ? KeyKind::kFolder : KeyKind::kObject;
  }

  // The Hub lists a tree in its own order, so all pages are sorted together.
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    const auto name = parse_hub_key(key);
    if (!name) return std::unexpected(name.error());
    const auto commit = commit_of(key, *name);
    if (!commit) return std::unexpected(commit.error());
    const std::string prefix = name->path.empty() ? "" : name->path + "/";
    const std::string base = key.substr(0, key.find_last_not_of('/') + 1) + "/";
    RecursiveChoice choice(options);
    Listing entries;
    for (std::string url = location_.tree_url(*name, *commit, options.is_recursive); !url.empty();) {
      PENSTOCK_CHECK(check_interruption(key));
      const auto answer = ask(key, url, {});
      if (!answer) return std::unexpected(answer.error());
      auto page = parse_hub_entries(answer->body);
      if (!page) return located(std::move(page).error(), key);
      for (HubEntry& found : *page) {
        if (!found.path.starts_with(prefix))
          return fail(found.path == name->path ? ErrorCode::kNotFound : ErrorCode::kCorrupt,
                      found.path == name->path ? "no such folder" : "the server listed what was not asked for", {key, -1, -1, -1});
        std::string below = found.path.substr(prefix.size());
        if (options.is_recursive && found.is_folder) continue;
        if (!found.is_folder) remember(base + below, found.version);
        if (options.is_recursive ? !choice.wants(below) : options.wants && !options.wants(below, found.is_folder)) continue;
        FolderEntry entry{std::move(below), found.is_folder, std::nullopt};
        if (!entry.is_folder && options.wants_version && options.wants_version(entry.name)) entry.version = found.version;
        PENSTOCK_CHECK(entries.add(std::move(entry), key));
      }
      const std::string next = next_hub_page(answer->header("link"));
      const auto there = next.empty() ? Result<HttpUrl>() : parse_http_url(next);
      if (!next.empty() && (!there || !location_.has(*there) || next == url))
        return fail(ErrorCode::kCorrupt, "the server's listing does not go on at the server", {key, -1, -1, -1});
      url = next;
    }
    entries.sort_by_key();
    const auto taken = take(std::move(entries));
    return taken ? Status() : std::unexpected(taken.error());
  }

  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    const auto version = stat(wanted.key);
    if (!version) return std::unexpected(version.error());
    if (wanted.only_version) {
      ObjectBytes answer;
      answer.version = *version;
      return answer;
    }
    auto request = of_commit(wanted);
    if (!request) return std::unexpected(std::move(request).error());
    return as_version(*version, wanted.key, http_->read(*request, allocate));
  }

  // Must not wait, so a file that was neither listed nor looked up is read at the revision as it is named, with the
  // version that is wanted, or else the one that the server of the bytes tells.
  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    auto request = of_commit(wanted);
    if (!request) return done(std::unexpected(std::move(request).error()));
    const auto known = known_version(wanted.key);
    http_->start_read(*std::move(request), std::move(allocate), std::move(stop),
                      [version = known ? known : wanted.version, key = wanted.key,
                       done = std::move(done)](Result<ObjectBytes> answer) {
                        done(version ? as_version(*version, key, std::move(answer)) : std::move(answer));
                      });
  }

 private:
  static std::unexpected<Error> located(Error error, const std::string& key) {
    error.where.uri = key;
    return std::unexpected(std::move(error));
  }

  // A commit does not change, so the version is compared here, and the server is not asked for one.
  Result<ObjectRead> of_commit(ObjectRead wanted) const {
    const auto known = known_version(wanted.key);
    if (wanted.version && known && *known != *wanted.version)
      return fail(ErrorCode::kChanged, "the file changed since it was indexed", {wanted.key, -1, -1, -1});
    wanted.version.reset();
    return wanted;
  }
  // The servers with the bytes have ETags of their own, so the size alone can be compared with the repository.
  static Result<ObjectBytes> as_version(const ObjectVersion& version, const std::string& key,
                                        Result<ObjectBytes> answer) {
    if (!answer) return answer;
    if (answer->version.size != version.size)
      return fail(ErrorCode::kChanged,
                  fmt::format("the server has {} bytes of it, the repository {}", answer->version.size, version.size),
                  {key, -1, -1, -1});
    answer->version = version;
    return answer;
  }
  Result<HttpAnswer> ask(const std::string& key, std::string url, std::string_view body) const {
    HttpExchange exchange;
    exchange.key = key;
    exchange.url = std::move(url);
    exchange.max_answer_bytes = kMaxHubPageBytes;
    if (!body.empty()) {
      exchange.method = "POST";
      exchange.headers = {{"Content-Type", "application/json"}};
      exchange.body = as_bytes(body.data(), body.size());
    }
    return http_->exchange(exchange);
  }

  Result<std::string> commit_of(const std::string& key, const HubKey& name) const {
    if (auto known = commits_->find(name.place())) return *std::move(known);
    const auto answer = ask(key, location_.revision_url(name), {});
    if (!answer) return std::unexpected(answer.error());
    auto commit = parse_hub_commit(answer->body);
    if (!commit) return located(std::move(commit).error(), key);
    return commits_->keep(name.place(), *std::move(commit));
  }

  // What the repository has at this path; empty: nothing.
  Result<std::optional<HubEntry>> look_up(const std::string& key) const {
    const auto name = parse_hub_key(key);
    if (!name) return std::unexpected(name.error());
    const auto commit = commit_of(key, *name);
    if (!commit) return std::unexpected(commit.error());
    if (name->path.empty()) return HubEntry{{}, true, {}};
    const auto answer = ask(key, location_.paths_url(*name, *commit), hub_question(name->path));
    if (!answer) return std::unexpected(answer.error());
    auto entries = parse_hub_entries(answer->body);
    if (!entries) return located(std::move(entries).error(), key);
    for (HubEntry& entry : *entries)
      if (entry.path == name->path) return std::move(entry);
    return std::nullopt;
  }

  std::optional<ObjectVersion> known_version(const std::string& key) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = versions_.find(key);
    return found == versions_.end() ? std::nullopt : std::optional(found->second);
  }
  void remember(const std::string& key, const ObjectVersion& version) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (versions_.size() < kMaxKnownVersions) versions_.try_emplace(key, version);
  }

  const std::shared_ptr<const HttpStore> http_;
  const HubLocation location_;
  const std::shared_ptr<HubCommits> commits_;
  mutable Mutex mutex_;
  // Of files that were listed or looked up, because the Hub allows few requests. At most kMaxKnownVersions.
  mutable std::unordered_map<std::string, ObjectVersion> versions_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

Result<HubOptions> find_hub_options() {
  HubOptions options;
  if (const char* endpoint = std::getenv("HF_ENDPOINT"); endpoint != nullptr) options.endpoint = endpoint;
  auto token = find_hub_token();
  if (!token) return std::unexpected(std::move(token).error());
  options.token = *std::move(token);
  return options;
}

Result<std::shared_ptr<const Store>> make_hub_store(const std::string& uri, HubOptions options, HttpOptions http) {
  if (const auto name = parse_hub_key(uri); !name) return std::unexpected(name.error());
  auto location = HubLocation::make(std::move(options.endpoint));
  if (!location) return std::unexpected(std::move(location).error());
  const auto commits = std::make_shared<HubCommits>();
  http.server.clear();
  http.userinfo.clear();
  http.query.clear();
  http.headers = std::move(options.headers);
  http.url_of_key = [location = *location, commits](const std::string& key) -> Result<HttpUrl> {
    const auto name = parse_hub_key(key);
    if (!name) return std::unexpected(name.error());
    return parse_http_url(location.resolve_url(*name, commits->find(name->place()).value_or(name->revision)));
  };
  http.signer = std::make_shared<HubSigner>(*location, std::move(options.token));
  http.judge = std::make_shared<HubJudge>(*location);
  auto store = make_http_store(std::move(http));
  if (!store) return std::unexpected(std::move(store).error());
  return std::make_shared<const HubStore>(*std::move(store), *std::move(location), commits);
}

}  // namespace penstock
