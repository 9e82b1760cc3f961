#include "demo_painter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace penstock::cli {
namespace {

struct Color {
  float r, g, b;
};

Color mix(Color a, Color b, float t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

// The look of a class.
struct Scene {
  std::string_view name;
  Color dark, middle, light;  // the palette, by brightness
  float persistence;          // contrast of an octave relative to the one before
  float stretch;              // of the texture; above 1 it is stretched sideways
  int objects;                // at most
};

constexpr std::array<Scene, kDemoClasses> kScenes = {{
    {"bark", {38, 26, 18}, {112, 82, 58}, {196, 168, 136}, 0.86f, 0.35f, 3},
    {"cloud", {92, 124, 168}, {170, 190, 214}, {248, 248, 250}, 0.66f, 1.8f, 1},
    {"dune", {120, 72, 34}, {206, 150, 92}, {246, 220, 172}, 0.70f, 2.6f, 2},
    {"forest", {14, 28, 12}, {58, 88, 40}, {164, 182, 104}, 0.90f, 0.8f, 5},
    {"meadow", {30, 62, 18}, {104, 148, 52}, {226, 222, 128}, 0.88f, 0.7f, 8},
    {"night", {6, 8, 20}, {34, 36, 66}, {210, 188, 140}, 0.74f, 1.0f, 9},
    {"rock", {40, 40, 44}, {120, 116, 112}, {214, 210, 204}, 0.84f, 1.2f, 4},
    {"sea", {8, 42, 74}, {38, 108, 142}, {206, 232, 236}, 0.80f, 3.0f, 2},
    {"street", {34, 34, 40}, {128, 112, 104}, {232, 224, 212}, 0.78f, 1.0f, 12},
    {"sunset", {48, 20, 44}, {196, 84, 58}, {254, 214, 130}, 0.72f, 2.2f, 3},
}};

struct Size {
  int width, height;
};

// Mostly landscape, often portrait, sometimes square.
Size choose_size(Draws& draws) {
  constexpr std::array<Size, 8> sizes = {
      {{500, 375}, {500, 333}, {500, 375}, {375, 500}, {500, 400}, {333, 500}, {480, 360}, {500, 500}}};
  Size size = sizes[draws.below(sizes.size())];
  if (draws.chance(0.25)) {
    const double zoom = draws.uniform(0.75, 1.15);
    size = {static_cast<int>(size.width * zoom), static_cast<int>(size.height * zoom)};
  }
  return size;
}

using Plane = std::vector<float>;

// The position of each pixel between the points of a coarse grid, eased so that no creases show.
struct Steps {
  Steps(int length, float cell, float phase) : at(static_cast<std::size_t>(length)), weight(at.size()) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      const float position = static_cast<float>(i) / cell + phase;
      at[i] = static_cast<std::uint32_t>(position);
      const float t = position - static_cast<float>(at[i]);
      weight[i] = t * t * (3 - 2 * t);
    }
  }
  std::size_t points() const { return at.back() + 2; }

  std::vector<std::uint32_t> at;
  std::vector<float> weight;
};

// Adds one octave of smooth noise: random values on a grid, interpolated.
void add_octave(Plane& plane, Size size, float cell_x, float cell_y, float amplitude, Draws& draws) {
  const Steps columns(size.width, cell_x, static_cast<float>(draws.uniform()));
  const Steps rows(size.height, cell_y, static_cast<float>(draws.uniform()));
  const std::size_t width = columns.points();
  std::vector<float> grid(width * rows.points());
  for (float& value : grid)
    value = (static_cast<float>(draws.next_u32() >> 8) * (2.0f / 16777216.0f) - 1) * amplitude;
  std::vector<float> line(width);
  for (std::size_t y = 0; y < rows.at.size(); ++y) {
    const float* above = grid.data() + rows.at[y] * width;
    const float* below = above + width;
    for (std::size_t i = 0; i < width; ++i) line[i] = above[i] + (below[i] - above[i]) * rows.weight[y];
    float* out = plane.data() + y * columns.at.size();
    for (std::size_t x = 0; x < columns.at.size(); ++x) {
      const std::uint32_t i = columns.at[x];
      out[x] += line[i] + (line[i + 1] - line[i]) * columns.weight[x];
    }
  }
}

// Octaves from `coarsest` pixels down to `finest`, scaled to a standard deviation of one.
Plane smooth_noise(Size size, float coarsest, float finest, float persistence, float stretch, Draws& draws) {
  Plane plane(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height));
  const float sideways = std::sqrt(stretch);
  float amplitude = 1;
  for (float cell = coarsest; cell >= finest; cell /= 2, amplitude *= persistence)
    add_octave(plane, size, std::max(cell * sideways, 1.5f), std::max(cell / sideways, 1.5f), amplitude,
               draws);
  double sum = 0, squares = 0;
  for (const float value : plane) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double count = static_cast<double>(plane.size()), mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-12));
  for (float& value : plane) value = static_cast<float>((static_cast<double>(value) - mean) / deviation);
  return plane;
}

Color palette(const Scene& scene, float t) {
  t = std::clamp(t, 0.0f, 1.0f);
  return t < 0.5f ? mix(scene.dark, scene.middle, t * 2) : mix(scene.middle, scene.light, t * 2 - 1);
}

// Paints an ellipse or a rotated box over the canvas: textured, with a sharp edge and shaded from one side.
void paint_object(std::vector<Color>& canvas, const Plane& texture, Size size, const Scene& scene,
                  Draws& draws) {
  const float shorter = static_cast<float>(std::min(size.width, size.height));
  const auto draw = [&](double from, double to) { return static_cast<float>(draws.uniform(from, to)); };
  const float reach_x = shorter * draw(0.04, 0.24), reach_y = shorter * draw(0.04, 0.24);
  const float x0 = draw(0, size.width), y0 = draw(0, size.height), angle = draw(0, 3.1416);
  const float cosine = std::cos(angle), sine = std::sin(angle);
  const bool is_box = draws.chance(0.5);
  Color paint = palette(scene, draw(0.05, 0.95));
  paint = mix(paint, {draw(20, 240), draw(20, 240), draw(20, 240)}, draw(0.1, 0.7));
  const float shade = draw(-0.35, 0.35), rough = draw(4, 16), softness = draw(0.8, 2.5);

  const float radius = std::hypot(reach_x, reach_y) + 3;
  const int left = std::max(0, static_cast<int>(x0 - radius)),
            right = std::min(size.width - 1, static_cast<int>(x0 + radius));
  const int top = std::max(0, static_cast<int>(y0 - radius)),
            bottom = std::min(size.height - 1, static_cast<int>(y0 + radius));
  for (int y = top; y <= bottom; ++y)
    for (int x = left; x <= right; ++x) {
      const float dx = static_cast<float>(x) - x0, dy = static_cast<float>(y) - y0;
      const float u = (dx * cosine + dy * sine) / reach_x, v = (dy * cosine - dx * sine) / reach_y;
      const float distance = is_box ? std::max(std::abs(u), std::abs(v)) : std::hypot(u, v);
      const float cover =
          std::clamp((1 - distance) * std::min(reach_x, reach_y) / softness + 0.5f, 0.0f, 1.0f);
      if (cover <= 0) continue;
      const std::size_t at =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
      const float light = 1 + shade * u, grain = rough * texture[at];
      const Color here = {paint.r * light + grain, paint.g * light + grain, paint.b * light + grain};
      canvas[at] = mix(canvas[at], here, cover);
    }
}

std::vector<Color> paint_ground(const Plane& texture, Size size, const Scene& scene, Draws& draws) {
  const Plane warm = smooth_noise(size, 192, 12, 0.7f, 1, draws),
              cool = smooth_noise(size, 192, 12, 0.7f, 1, draws);
  const auto draw = [&](double from, double to) { return static_cast<float>(draws.uniform(from, to)); };
  const float contrast = draw(0.17, 0.28), level = draw(0.38, 0.6), tint = draw(4, 12);
  const float across = draw(-0.25, 0.25), down = draw(-0.35, 0.35);
  std::vector<Color> canvas(texture.size());
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const std::size_t at =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
      const float gradient = across * (static_cast<float>(x) / static_cast<float>(size.width) - 0.5f) +
                             down * (static_cast<float>(y) / static_cast<float>(size.height) - 0.5f);
      const Color base = palette(scene, level + contrast * texture[at] + gradient);
      canvas[at] = {base.r + tint * warm[at], base.g + tint * 0.3f * (cool[at] - warm[at]),
                    base.b - tint * cool[at]};
    }
  return canvas;
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
}

}  // namespace

std::string_view demo_class_name(std::size_t label) { return kScenes[label].name; }

Picture paint_demo_picture(std::uint64_t seed, std::uint64_t index, std::size_t label) {
  Draws draws(seed, 0, index);
  const Scene& scene = kScenes[label];
  const Size size = choose_size(draws);
  const float persistence = scene.persistence + static_cast<float>(draws.uniform(0.03, 0.14));
  const Plane texture = smooth_noise(size, 256, 2, persistence, scene.stretch, draws);
  std::vector<Color> canvas = paint_ground(texture, size, scene, draws);
  for (std::uint64_t left = 1 + draws.below(static_cast<std::uint64_t>(scene.objects)); left > 0; --left)
    paint_object(canvas, texture, size, scene, draws);

  Picture picture{size.width, size.height, std::vector<std::uint8_t>(canvas.size() * 3)};
  const float grain = static_cast<float>(draws.uniform(4, 9));
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    const std::uint32_t bits = draws.next_u32();  // two uniform numbers, whose sum has a triangular distribution
    const float noise =
        (static_cast<float>(bits & 0xFFFF) + static_cast<float>(bits >> 16)) * (1.0f / 65536.0f) - 1;
    picture.rgb[3 * i] = to_byte(canvas[i].r + grain * 2 * noise);
    picture.rgb[3 * i + 1] = to_byte(canvas[i].g + grain * 2 * noise);
    picture.rgb[3 * i + 2] = to_byte(canvas[i].b + grain * 2 * noise);
  }
  return picture;
}

}  // namespace penstock::cli
