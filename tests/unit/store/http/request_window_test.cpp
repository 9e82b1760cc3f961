// The window on simulated servers, against the best fixed number of requests.
#include "store/http/request_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "base/random.h"

namespace penstock {
namespace {

struct SimulatedServer {
  double latency_s = 0.03;
  double connection_bytes_per_s = 20e6;
  double total_bytes_per_s = 1e12;  // of all connections together
  double requests_per_s = 1e9;      // of the server
  int knee = 1 << 30;               // more in flight than this make everything slower
  double jitter = 0.1;
  double busy_above = 1e9;  // 503 for those beyond so many in flight
};

// Keeps `limit()` requests in flight for some seconds; returns the objects read a second.
double run(const SimulatedServer& server, double seconds, double bytes,
           const std::function<std::size_t()>& limit, const std::function<void(double)>& sent,
           const std::function<void(double, bool)>& ended) {
  using Event = std::pair<double, bool>;  // when it ends, and whether it was refused
  std::priority_queue<Event, std::vector<Event>, std::greater<>> flying;
  Draws draws(1, 0, 0);
  double now = 0, link_free = 0, turn = 0;
  std::uint64_t done = 0;
  while (now < seconds) {
    while (flying.size() < limit()) {
      sent(now);
      const double many = static_cast<double>(flying.size() + 1);
      if (many > server.busy_above) {
        flying.emplace(now + server.latency_s, true);
        continue;
      }
      const double over = std::max(0.0, many / server.knee - 1);
      const double slower = 1 + 3 * over;
      turn = std::max(turn, now) + slower / server.requests_per_s;
      const double answered =
          std::max(turn, now + server.latency_s * slower * (1 + server.jitter * (draws.uniform() - 0.5)));
      link_free = std::max(link_free, answered) + bytes / server.total_bytes_per_s;
      flying.emplace(std::max(link_free, answered + slower * bytes / server.connection_bytes_per_s), false);
    }
    const auto [end, refused] = flying.top();
    flying.pop();
    now = end;
    done += refused ? 0 : 1;
    ended(now, refused);
  }
  return static_cast<double>(done) / seconds;
}

double run_fixed(const SimulatedServer& server, std::size_t limit, double bytes) {
  return run(server, 20, bytes, [&] { return limit; }, [](double) {}, [](double, bool) {});
}

struct Adapted {
  double rate = 0;
  std::size_t limit = 0;
};

Adapted run_adapted(const SimulatedServer& server, double bytes, double seconds = 60) {
  RequestWindow window(64);
  const auto at = [](double now) {
    return Clock::time_point(std::chrono::hours(1) +
                             std::chrono::nanoseconds(static_cast<std::int64_t>(now * 1e9)));
  };
  const double rate = run(
      server, seconds, bytes, [&] { return window.limit(); }, [&](double now) { window.sent(at(now)); },
      [&](double now, bool refused) {
        window.ended(at(now), refused ? 0 : static_cast<std::uint64_t>(bytes),
                     refused ? RequestWindow::Outcome::kPushedBack : RequestWindow::Outcome::kDone);
      });
  return {rate, window.limit()};
}

double best_fixed(const SimulatedServer& server, double bytes) {
  double best = 0;
  for (std::size_t limit = 4; limit <= 64; limit += 4) best = std::max(best, run_fixed(server, limit, bytes));
  return best;
}

struct Case {
  const char* name;
  SimulatedServer server;
  double bytes;
};

class OnServer : public testing::TestWithParam<Case> {};

TEST_P(OnServer, is_nearly_as_good_as_the_best_fixed_number) {
  const auto& [name, server, bytes] = GetParam();
  const Adapted adapted = run_adapted(server, bytes);
  const double best = best_fixed(server, bytes);
  EXPECT_GE(adapted.rate, 0.9 * best) << "with " << adapted.limit << " in flight";
}

INSTANTIATE_TEST_SUITE_P(
    RequestWindow, OnServer,
    testing::Values(Case{"LatencyOnly", {}, 96e3}, Case{"SlowStorage", {.latency_s = 0.2}, 96e3},
                    Case{"LocalNetwork", {.latency_s = 0.001, .connection_bytes_per_s = 1e9}, 96e3},
                    Case{"ThinLink", {.total_bytes_per_s = 30e6}, 96e3},
                    Case{"FatLink", {.total_bytes_per_s = 150e6}, 96e3},
                    Case{"BusyServer", {.requests_per_s = 500}, 96e3},
                    Case{"LargeObjects", {.total_bytes_per_s = 200e6}, 4e6}, Case{"TinyObjects", {}, 500},
                    Case{"KneeAt12", {.knee = 12}, 96e3}, Case{"KneeAt24", {.knee = 24}, 96e3},
                    Case{"KneeAt6", {.knee = 6}, 96e3}, Case{"Jitter", {.jitter = 1.5}, 96e3},
                    Case{"Refuses", {.busy_above = 20}, 96e3}),
    [](const auto& test) { return test.param.name; });

TEST(RequestWindow, stays_small_where_more_do_not_help) {
  EXPECT_LE(run_adapted({.total_bytes_per_s = 10e6}, 96e3).limit, 20u);
  EXPECT_GE(run_adapted({}, 96e3).limit, 48u);
}

TEST(RequestWindow, has_no_time_to_lose_in_a_short_epoch) {
  EXPECT_GE(run_adapted({}, 1.5e6, 2).rate, 0.8 * run_fixed({}, 64, 1.5e6));
}

TEST(RequestWindow, keeps_within_its_bounds) {
  for (const std::size_t most : {1u, 2u, 5u, 64u}) {
    RequestWindow window(most);
    Clock::time_point now{std::chrono::hours(1)};
    Draws draws(most, 0, 0);
    for (int i = 0; i < 20'000; ++i) {
      while (window.in_flight() < window.limit()) window.sent(now);
      now += std::chrono::microseconds(1 + draws.below(3000));
      window.ended(now, draws.below(1 << 20), static_cast<RequestWindow::Outcome>(draws.below(3)));
      ASSERT_GE(window.limit(), std::min<std::size_t>(most, 4));
      ASSERT_LE(window.limit(), most);
    }
  }
}

TEST(RequestWindow, does_not_judge_what_it_was_not_asked_for) {
  RequestWindow window(64);
  Clock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < 10'000; ++i) {
    window.sent(now);
    now += std::chrono::milliseconds(30);
    window.ended(now, 96'000);
  }
  EXPECT_EQ(window.limit(), RequestWindow::kFirst) << "one at a time tells nothing about many";
}

}  // namespace
}  // namespace penstock
