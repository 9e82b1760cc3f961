#include "store/s3/credential_services.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>

#include "store/http/http_store.h"
#include "store/http/http_response.h"
#include "store/s3/uri_encoding.h"
#include "store/xml_reader.h"

extern char** environ;

namespace penstock {
namespace {

constexpr std::uint64_t kMaxAnswer = 64 << 10;
constexpr std::chrono::seconds kProgramTime{60};
constexpr const char* kInstance = "http://169.254.169.254";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::unexpected<Error> no_credentials(std::string message, bool is_temporary = false) {
  return std::unexpected(Error{ErrorCode::kNoAccess, std::move(message), {}, is_temporary});
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxAnswer, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.pop_back();
  return text;
}

// One request to a service that is near; the store ends with it.
Result<HttpAnswer> ask(const HttpExchange& exchange, std::chrono::milliseconds connect_timeout, std::stop_token stop) {
  HttpOptions options;
  options.reads_credentials = true;
  options.allow_other_hosts = false;
  options.hedge_after = std::chrono::milliseconds(0);
  options.connect_timeout = connect_timeout;
  options.stall_after = std::chrono::milliseconds(2'000);
  options.retry.give_up_after = std::chrono::milliseconds(10'000);
  options.retry.max_tries = 4;
  options.retry.max_odd_answers = 2;
  std::promise<Result<HttpAnswer>> answered;  // outlives the store, whose thread may still be within set_value()
  const auto store = make_http_store(std::move(options));
  if (!store) return std::unexpected(store.error());
  (*store)->start_exchange(exchange, std::move(stop),
                           [&](Result<HttpAnswer> answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}

std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto seconds = parse_iso_time(text);
  // A time that cannot be read, or that the clock cannot hold, is soon.
  constexpr std::int64_t kLastSecond = 9'000'000'000;  // in the year 2255
  if (!seconds || *seconds < 0 || *seconds > kLastSecond)
    return std::chrono::system_clock::now() + std::chrono::minutes(5);
  return std::chrono::system_clock::time_point(std::chrono::seconds(*seconds));
}

HttpExchange get(std::string url) {
  HttpExchange exchange;
  exchange.key = exchange.url = std::move(url);
  exchange.max_answer_bytes = kMaxAnswer;
  return exchange;
}

// Plain HTTP is for this machine and its links alone, because the answer is a secret.
bool is_near(const HttpUrl& url) {
  // A name may begin with "127." and be anywhere.
  const bool is_loopback = url.host.starts_with("127.") && network_of_host(url.host) == Network::kInner &&
                           url.host.find_first_not_of("0123456789.") == std::string::npos;
  return url.scheme == "https" || network_of_host(url.host) == Network::kCredentials || url.host == "localhost" ||
         url.host == "[::1]" || is_loopback;
}

class ChildProgram {
 public:
  explicit ChildProgram(const std::string& command) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return;
    output_ = pipe[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    std::string shell = "/bin/sh", option = "-c", text = command;
    std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
    // A group of its own, so that what the shell starts ends with it. This thread blocks all signals, as the one of the
    // engine that started it does, and Python ignores SIGPIPE; programs expect neither.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (posix_spawn(&pid_, shell.c_str(), &actions, &attributes, arguments.data(), environ) != 0) pid_ = -1;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
  }
  ChildProgram(const ChildProgram&) = delete;
  ~ChildProgram() {
    if (output_ >= 0) ::close(output_);
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    wait();
  }

  bool runs() const { return pid_ > 0; }

  // What it prints until it closes its output. Empty: it took too long.
  std::optional<std::string> output(const std::stop_token& stop) {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + kProgramTime;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end && text.size() <= kMaxAnswer) {
      pollfd wait_for{output_, POLLIN, 0};
      if (::poll(&wait_for, 1, 50) <= 0) continue;
      std::array<char, 4096> piece{};
      const ssize_t got = ::read(output_, piece.data(), piece.size());
      if (got == 0) return text;
      if (got < 0 && errno != EINTR) return std::nullopt;
      if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return std::nullopt;
  }

  // The status that waitpid() tells; -1 if it cannot.
  int wait() {
    int status = 0;
    pid_t ended = -1;
    while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return ended < 0 ? -1 : status;
  }

 private:
  int output_ = -1;
  pid_t pid_ = -1;
};

}  // namespace

Result<S3Credentials> parse_credentials_json(std::string_view json, std::string_view what) {
  const auto refuse = [&](std::string_view why) { return no_credentials(fmt::format("{} {}", what, why), true); };
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object()) return refuse("did not answer with JSON");
  const auto text = [&](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  S3Credentials credentials;
  credentials.access_key_id = text("AccessKeyId");
  credentials.secret_access_key = text("SecretAccessKey");
  credentials.session_token = text("Token").empty() ? text("SessionToken") : text("Token");
  credentials.expires = time_of(text("Expiration"));
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) return refuse("gave no keys");
  return credentials;
}

Result<S3Credentials> parse_sts_answer(std::string_view xml) {
  const std::string above = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/";
  S3Credentials credentials;
  credentials.access_key_id = xml_text_at(xml, above + "AccessKeyId");
  credentials.secret_access_key = xml_text_at(xml, above + "SecretAccessKey");
  credentials.session_token = xml_text_at(xml, above + "SessionToken");
  credentials.expires = time_of(xml_text_at(xml, above + "Expiration"));
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty())
    return no_credentials("STS gave no keys for the web identity", true);
  return credentials;
}

Result<S3Credentials> fetch_by_web_identity(const WebIdentity& identity, std::stop_token stop) {
  const std::string token = text_of(identity.token_file);
  if (token.empty())
    return no_credentials(fmt::format("the web identity token {} cannot be read", identity.token_file), true);
  std::string endpoint = variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty())
    endpoint = identity.region.empty() ? "https://sts.amazonaws.com"
                                       : fmt::format("https://sts.{}.amazonaws.com{}", identity.region,
                                                     identity.region.starts_with("cn-") ? ".cn" : "");
  const std::string form = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
      uri_encoded(identity.role_arn, false), uri_encoded(identity.session_name, false), uri_encoded(token, false));
  HttpExchange exchange = get(endpoint + "/");
  exchange.method = "POST";
  exchange.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  exchange.body = as_bytes(form.data(), form.size());
  exchange.patience = std::chrono::milliseconds(10'000);
  const auto answer = ask(exchange, std::chrono::milliseconds(5'000), std::move(stop));
  if (!answer)
    return no_credentials(fmt::format("STS refused the web identity: {}", answer.error().message),
                          answer.error().retryable);
  return parse_sts_answer(answer->body);
}

Result<S3Credentials> fetch_from_container(std::stop_token stop) {
  std::string url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const std::string path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !path.empty())
    url = "http://169.254.170.2" + path;
  const auto parsed = parse_http_url(url);
  if (!parsed || !is_near(*parsed))
    return no_credentials("AWS_CONTAINER_CREDENTIALS_FULL_URI is no endpoint of this machine and not encrypted");
  HttpExchange exchange = get(url);
  std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file.empty()) token = text_of(file);
  if (token.find_first_of("\r\n") != std::string::npos) return no_credentials("the container's token has a line break");
  if (!token.empty()) exchange.headers.push_back({"Authorization", token});
  const auto answer = ask(exchange, std::chrono::milliseconds(2'000), std::move(stop));
  if (!answer)
    return no_credentials(fmt::format("the container's endpoint gave no credentials: {}", answer.error().message),
                          answer.error().retryable);
  return parse_credentials_json(answer->body, "the container's endpoint");
}

Result<std::optional<S3Credentials>> fetch_from_instance(std::stop_token stop) {
  std::string endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) endpoint = kInstance;
  constexpr std::chrono::milliseconds kNear{1'000};
  HttpExchange login = get(endpoint + "/latest/api/token");
  login.method = "PUT";
  login.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  const auto token = ask(login, kNear, stop);
  if (!token) return std::nullopt;
  if (token->body.find_first_of("\r\n") != std::string::npos) return no_credentials("the instance gave an odd token");
  const auto ask_instance = [&](const std::string& path) {
    HttpExchange exchange = get(endpoint + "/latest/meta-data/iam/security-credentials/" + path);
    exchange.headers = {{"X-aws-ec2-metadata-token", token->body}};
    return ask(exchange, kNear, stop);
  };
  const auto roles = ask_instance("");
  if (!roles && roles.error().code == ErrorCode::kNotFound) return std::nullopt;  // the instance has no role
  if (!roles) return no_credentials("the instance's endpoint failed", true);
  const std::string role = roles->body.substr(0, roles->body.find_first_of("\r\n"));
  const auto answer = ask_instance(uri_encoded(role, false));
  if (!answer) return no_credentials("the instance's endpoint failed", true);
  auto credentials = parse_credentials_json(answer->body, "the instance's endpoint");
  if (!credentials) return std::unexpected(std::move(credentials).error());
  return *std::move(credentials);
}

Result<S3Credentials> fetch_from_program(const std::string& command, std::stop_token stop) {
  ChildProgram program(command);
  if (!program.runs()) return no_credentials("credential_process cannot be started");
  const auto output = program.output(stop);
  if (!output) return no_credentials("credential_process took too long");
  if (program.wait() != 0) return no_credentials("credential_process failed");
  return parse_credentials_json(*output, "credential_process");
}

}  // namespace penstock
