#include "store/http/http_store.h"

#ifdef PENSTOCK_WITH_CURL
#include <cstdlib>

#include "store/http/http_engine.h"
#include "store/read_answer.h"
#endif

namespace penstock {

#ifdef PENSTOCK_WITH_CURL
namespace {

constexpr std::size_t kMaxRequests = 1024;

// Runs a read and waits for its answer, which the read itself sets.
Result<ObjectBytes> wait_until(HttpEngine& engine, std::unique_ptr<HttpRead> read, ReadAnswer& answer) {
  std::stop_source stop;
  read->stop = stop.get_token();
  engine.submit(std::move(read));
  return answer.wait_interruptibly([&] { stop.request_stop(); });
}

Result<ObjectBytes> wait_for(HttpEngine& engine, std::unique_ptr<HttpRead> read) {
  const auto answer = std::make_shared<ReadAnswer>();
  read->done = [answer](Result<ObjectBytes> result) { answer->set(std::move(result)); };
  return wait_until(engine, std::move(read), *answer);
}

Result<std::unique_ptr<HttpRead>> make_read(const HttpEngine& engine, ObjectRead wanted) {
  auto url = engine.url_of_key(wanted.key);
  if (!url) return std::unexpected(std::move(url).error());
  auto read = std::make_unique<HttpRead>();
  read->wants_reasons = engine.has_judge();
  read->kind = wanted.only_version ? HttpRead::Kind::kVersion : HttpRead::Kind::kBytes;
  if (wanted.only_version) wanted.range = {};
  read->wanted = std::move(wanted);
  read->url = std::move(*url);
  return read;
}

Result<std::unique_ptr<HttpRead>> make_exchange(HttpExchange exchange) {
  auto url = parse_http_url(exchange.url);
  if (!url) return std::unexpected(std::move(url).error());
  auto read = std::make_unique<HttpRead>();
  read->kind = HttpRead::Kind::kExchange;
  read->wanted.key = exchange.key;
  read->url = std::move(*url);
  read->exchange = std::move(exchange);
  return read;
}

class HttpObject final : public Object {
 public:
  HttpObject(ObjectVersion version, std::string key, std::shared_ptr<HttpEngine> engine)
      : Object(version),
        key_(std::move(key)),
        engine_(std::move(engine)) {}

  using Object::read_at;

  // Every answer is checked: it must come from the version of the object that was opened.
  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::uint64_t wanted = 0;
    for (const MutableBytes part : parts) wanted += part.size();
    auto read = make_read(*engine_, {key_, {offset, wanted, false}, wanted, version()});
    if (!read) return std::unexpected(std::move(read).error());
    if (wanted == 0 && offset <= version().size) return {};
    for (const MutableBytes part : parts)
      if (!part.empty()) (*read)->memory.push_back(part);
    PENSTOCK_CHECK(wait_for(*engine_, std::move(*read)));
    return {};
  }

 private:
  std::string key_;
  std::shared_ptr<HttpEngine> engine_;
};

class CurlHttpStore final : public HttpStore {
 public:
  explicit CurlHttpStore(std::shared_ptr<HttpEngine> engine) : engine_(std::move(engine)) {}
  CurlHttpStore(const CurlHttpStore&) = delete;
  ~CurlHttpStore() override { engine_->stop(); }

  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    auto read = make_read(*engine_, wanted);
    if (!read) return std::unexpected(std::move(read).error());
    (*read)->allocate = allocate;
    return wait_for(*engine_, std::move(*read));
  }

  // Whether objects have versions depends on the server, so the traits promise none.
  StoreTraits traits() const override {
    return {.reads_ahead = engine_->limit(), .urgent_reads = engine_->urgent_limit()};
  }

  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    auto read = make_read(*engine_, std::move(wanted));
    if (!read) return done(std::unexpected(std::move(read).error()));
    (*read)->allocate = std::move(allocate);
    (*read)->stop = std::move(stop);
    (*read)->done = std::move(done);
    engine_->submit(std::move(*read));
  }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    const auto version = stat(key);
    if (!version) return std::unexpected(version.error());
    return std::make_unique<HttpObject>(*version, key, engine_);
  }

  Result<ObjectVersion> stat(const std::string& key) const override {
    auto read = make_read(*engine_, version_read(key));
    if (!read) return std::unexpected(std::move(read).error());
    auto answer = wait_for(*engine_, std::move(*read));
    if (!answer) return std::unexpected(std::move(answer).error());
    return answer->version;
  }

  Status list_pages(const std::string& key, const ListOptions&, const TakePage&) const override {
    return fail(ErrorCode::kUnsupported,
                "an HTTP server cannot be listed; name the objects, or a manifest of them",
                {without_secrets(key), -1, -1, -1});
  }

  HttpCounters counters() const override { return engine_->counters(); }

  Result<HttpAnswer> exchange(const HttpExchange& wanted) const override {
    auto read = make_exchange(wanted);
    if (!read) return std::unexpected(std::move(read).error());
    const auto answer = std::make_shared<HttpAnswer>();
    const auto ended = std::make_shared<ReadAnswer>();
    (*read)->exchange_done = [answer, ended](Result<HttpAnswer> result) {
      if (!result) return ended->set(std::unexpected(std::move(result).error()));
      *answer = *std::move(result);
      ended->set(ObjectBytes());
    };
    PENSTOCK_CHECK(wait_until(*engine_, std::move(*read), *ended));
    return std::move(*answer);
  }

  void start_exchange(HttpExchange wanted, std::stop_token stop, ExchangeDone done) const override {
    auto read = make_exchange(std::move(wanted));
    if (!read) return done(std::unexpected(std::move(read).error()));
    (*read)->stop = std::move(stop);
    (*read)->exchange_done = std::move(done);
    engine_->submit(std::move(*read));
  }

 private:
  std::shared_ptr<HttpEngine> engine_;
};

}  // namespace

Result<std::shared_ptr<const HttpStore>> make_http_store(HttpOptions options) {
  if (const char* text = std::getenv("PENSTOCK_HTTP_REQUESTS"); text != nullptr && *text != '\0') {
    const auto requests = parse_length(text);
    if (!requests || *requests == 0)
      return fail(ErrorCode::kInvalidArgument, "PENSTOCK_HTTP_REQUESTS is not a number of requests");
    options.max_in_flight = *requests;
  }
  options.max_in_flight = std::clamp<std::size_t>(options.max_in_flight, 1, kMaxRequests);
  auto engine = HttpEngine::start(std::move(options));
  if (!engine) return std::unexpected(std::move(engine).error());
  return std::make_shared<const CurlHttpStore>(std::move(*engine));
}

#else

Result<std::shared_ptr<const HttpStore>> make_http_store(HttpOptions) {
  return fail(ErrorCode::kUnsupported, "this build reads no HTTP");
}

#endif

}  // namespace penstock
