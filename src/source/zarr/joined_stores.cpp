#include "source/zarr/joined_stores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "source/path_pattern.h"
#include "source/zarr/variable.h"
#include "store/http/http_url.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxStores = 100'000;

}  // namespace

std::string name_of_variable(const ZarrArray& array) { return array.name.empty() ? "the array" : array.name; }

std::unexpected<Error> cannot_join(const OpenedStore& first, const OpenedStore& second, std::string message) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} and {} cannot be joined: {}", without_secrets(first.uri),
                          without_secrets(second.uri), std::move(message)),
              {second.uri, -1, -1, -1});
}

int sample_axis_of(const ZarrArray& array, const SampleDimension& sample_dim) {
  const auto rank = static_cast<int>(array.data->spec().shape.size());
  if (const auto* axis = std::get_if<int>(&sample_dim)) {
    const int position = *axis < 0 ? *axis + rank : *axis;
    return position >= 0 && position < rank ? position : -1;
  }
  const auto found = std::ranges::find(array.dimensions, std::get<std::string>(sample_dim));
  return found == array.dimensions.end() ? -1 : static_cast<int>(found - array.dimensions.begin());
}

Result<std::vector<NamedStore>> expand_stores(const std::vector<std::string>& given, const ZarrOptions& options) {
  std::vector<NamedStore> named;
  const auto check_count = [](std::size_t count, const std::string& first) -> Status {
    if (count <= kMaxStores) return {};
    return fail(ErrorCode::kTooLarge, fmt::format("{} stores; at most {}", count, kMaxStores),
                {without_secrets(first), -1, -1, -1});
  };
  if (!given.empty()) PENSTOCK_CHECK(check_count(given.size(), given.front()));
  for (const std::string& uri : given) {
    auto store = make_store_for(uri, options.headers);
    if (!store) return std::unexpected(std::move(store).error());
    const std::string key = object_key(uri);
    const auto is_several = names_several(**store, key);
    if (!is_several) return std::unexpected(is_several.error());
    if (!*is_several) {
      named.push_back({key, *std::move(store)});
      continue;
    }
    auto expanded = expand_in_order(**store, key);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    for (std::string& match : *expanded) named.push_back({std::move(match), *store});
  }
  if (named.empty()) return fail(ErrorCode::kInvalidArgument, "the list names no store");
  PENSTOCK_CHECK(check_count(named.size(), named.front().key));
  std::unordered_set<std::string_view> keys;
  for (const NamedStore& store : named)
    if (!keys.insert(store.key).second)
      return fail(ErrorCode::kInvalidArgument, "the store is named twice", {without_secrets(store.key), -1, -1, -1});
  return named;
}

Result<std::vector<OpenedStore>> open_stores(std::vector<NamedStore> named, const ZarrOptions& options) {
  std::vector<OpenedStore> stores;
  for (auto& [uri, store] : named) {
    // Where a store can list, it can tell a folder that is missing from one that is no Zarr.
    if (store->traits().can_list && !store->stat(uri))
      return fail(ErrorCode::kNotFound, "no such file or folder", {uri, -1, -1, -1});
    auto node = ZarrNode::open(store, uri, {options.missing});
    if (!node) return std::unexpected(std::move(node).error());
    stores.push_back({uri, std::move(store), std::move(*node)});
    const OpenedStore &first = stores.front(), &last = stores.back();
    if (first.node.is_array() != last.node.is_array())
      return cannot_join(first, last, fmt::format("the {} is an array, the other a group of arrays",
                                             first.node.is_array() ? "first" : "second"));
  }
  return stores;
}

Result<std::vector<JoinedArray>> find_arrays(const std::vector<OpenedStore>& stores,
                                             const std::vector<std::string>& names) {
  std::vector<JoinedArray> variables;
  std::set<std::size_t> used;
  for (const std::string& name : names) {
    JoinedArray& variable = variables.emplace_back();
    std::optional<Error> not_found;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      auto array = stores[i].node.array(name);
      if (array) {
        variable.stores.push_back(i);
        variable.arrays.push_back(std::move(*array));
        used.insert(i);
      } else if (array.error().code != ErrorCode::kNotFound) {
        return std::unexpected(std::move(array).error());
      } else if (!not_found) {
        not_found = std::move(array).error();
      }
    }
    if (variable.arrays.empty()) return std::unexpected(*std::move(not_found));
  }
  for (std::size_t i = 0; i < stores.size(); ++i)
    if (!used.contains(i))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("this store has none of the variables {}", fmt::join(names, ", ")),
                  {stores[i].uri, -1, -1, -1});
  return variables;
}

Status decode_joined_times(const std::vector<OpenedStore>& stores, std::vector<JoinedArray>& variables) {
  for (JoinedArray& variable : variables) {
    variable.is_time = claims_times(variable.arrays.front());
    for (std::size_t i = 1; i < variable.arrays.size(); ++i)
      if (claims_times(variable.arrays[i]) != variable.is_time)
        return cannot_join(stores[variable.stores.front()], stores[variable.stores[i]],
                      fmt::format("{} is a time in the {} alone", name_of_variable(variable.arrays.front()),
                                  variable.is_time ? "first" : "second"));
    if (!variable.is_time) continue;
    for (ZarrArray& array : variable.arrays) PENSTOCK_CHECK(decode_times(array));
  }
  return {};
}

}  // namespace penstock
