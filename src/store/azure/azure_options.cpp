#include "store/azure/azure_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text/lower_case.h"

namespace penstock {
namespace {

// The emulator's account and key, which are the same on every machine.
constexpr std::string_view kEmulatorAccount = "devstoreaccount1";
constexpr std::string_view kEmulatorKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

std::string from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

std::string without_question_mark(std::string token) {
  if (token.starts_with('?')) token.erase(0, 1);
  return token;
}

}  // namespace

Result<AzureOptions> parse_azure_connection(std::string_view text) {
  AzureOptions options;
  std::string protocol = "https", suffix = "core.windows.net";
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, "the connection string of Azure has a part without \"=\"");
    const std::string name = lower_case(part.substr(0, equals));
    const std::string value(part.substr(equals + 1));
    if (name == "accountname") options.account = value;
    if (name == "accountkey") options.account_key = value;
    if (name == "blobendpoint") options.endpoint = value;
    if (name == "sharedaccesssignature") options.sas_token = without_question_mark(value);
    if (name == "defaultendpointsprotocol") protocol = value;
    if (name == "endpointsuffix") suffix = value;
    if (name == "usedevelopmentstorage" && lower_case(value) == "true") {
      options.account = kEmulatorAccount;
      options.account_key = kEmulatorKey;
      options.endpoint = fmt::format("http://127.0.0.1:10000/{}", kEmulatorAccount);
    }
  }
  if (options.endpoint.empty() && !options.account.empty())
    options.endpoint = fmt::format("{}://{}.blob.{}", protocol, options.account, suffix);
  if (options.endpoint.empty())
    return fail(ErrorCode::kInvalidArgument, "the connection string of Azure names no account and no BlobEndpoint");
  return options;
}

Result<AzureOptions> find_azure_options() {
  AzureOptions options;
  if (const std::string connection = from_environment({"AZURE_STORAGE_CONNECTION_STRING"}); !connection.empty()) {
    auto parsed = parse_azure_connection(connection);
    if (!parsed) return parsed;
    options = *std::move(parsed);
  }
  const auto override_by = [](std::string& member, std::string value) {
    if (!value.empty()) member = std::move(value);
  };
  const std::string account = from_environment({"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"});
  if (!account.empty() && account != options.account) {
    // Another account than that of the connection string, whose key and endpoint are not for it.
    options = {};
    options.account = account;
  }
  const std::string key = from_environment({"AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"});
  const std::string token = without_question_mark(from_environment({"AZURE_STORAGE_SAS_TOKEN"}));
  if (!token.empty()) options.account_key.clear();
  override_by(options.sas_token, token);
  override_by(options.account_key, key);
  override_by(options.endpoint, from_environment({"AZURE_STORAGE_ENDPOINT", "AZURE_STORAGE_BLOB_ENDPOINT"}));
  return options;
}

}  // namespace penstock
