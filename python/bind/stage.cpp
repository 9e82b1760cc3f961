#include "penstock/stage.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "source_handle.h"
#include "stage_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

StageOptions options_of(std::uint64_t piece_bytes, std::uint64_t memory_bytes, unsigned threads, bool sync) {
  StageOptions options;
  if (piece_bytes != 0) options.piece_bytes = piece_bytes;
  if (memory_bytes != 0) options.memory_bytes = memory_bytes;
  if (threads != 0) options.threads = threads;
  options.sync = sync;
  return options;
}

// Makes the engine's `progress` from a Python function of (objects, bytes, total objects, total bytes).
std::function<bool(const StageProgress&)> stage_progress_of(const nb::object& callback) {
  if (callback.is_none()) return {};
  return [&callback](const StageProgress& progress) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_Occurred()) return false;
    try {
      callback(progress.objects, progress.bytes, progress.total_objects, progress.total_bytes);
    } catch (nb::python_error& error) {
      error.restore();
      return false;
    }
    return PyErr_CheckSignals() == 0;
  };
}

using Report = nb::typed<nb::dict, nb::str, nb::any>;

Report stage_data(const nb::bytes& source, const nb::bytes& folder, std::vector<std::string> headers,
                  std::uint64_t piece_bytes, std::uint64_t memory_bytes, unsigned threads, bool sync,
                  const nb::object& progress) {
  StageOptions options = options_of(piece_bytes, memory_bytes, threads, sync);
  options.headers = std::move(headers);
  options.progress = stage_progress_of(progress);
  const StageReport report = value_or_raise(run_interruptibly(
      [&, from = text_of(source), to = text_of(folder)] { return penstock::stage(from, to, options); }));
  Report out;
  out["objects"] = report.objects;
  out["bytes"] = report.bytes;
  out["objects_skipped"] = report.objects_skipped;
  out["bytes_copied"] = report.bytes_copied;
  out["seconds"] = report.seconds;
  return out;
}

Report check_folder(const nb::bytes& folder, const nb::object& progress) {
  const auto shown = stage_progress_of(progress);
  const StageCheck check =
      value_or_raise(run_interruptibly([&, path = text_of(folder)] { return check_staged(path, shown); }));
  nb::list damaged;
  for (const StageDamage& damage : check.damaged) damaged.append(nb::make_tuple(file_text(damage.name), damage.problem));
  Report out;
  out["objects"] = check.objects;
  out["bytes"] = check.bytes;
  out["damaged"] = damaged;
  return out;
}

}  // namespace

void bind_stage(nb::module_& m) {
  nb::class_<StageHandle>(m, "StageHandle", "A folder that a data set is staged to, with the threads that copy.")
      .def("close",
           [](StageHandle& self) {
             const nb::gil_scoped_release release;
             self.stage->close();
           })
      .def("stats", [](const StageHandle& self) -> Report {
        const StagingStats stats = self.stage->stats();
        Report out;
        out["copied_bytes"] = stats.copied;
        out["read_through_bytes"] = stats.read_through;
        out["kept_bytes"] = stats.kept;
        out["served_bytes"] = stats.served;
        out["objects_whole"] = stats.objects_whole;
        out["error"] = file_text(stats.error);
        return out;
      });
  m.def(
      "open_stage",
      [](const nb::bytes& folder, std::uint64_t piece_bytes, std::uint64_t memory_bytes, unsigned threads, bool sync) {
        const StageOptions options = options_of(piece_bytes, memory_bytes, threads, sync);
        return StageHandle{value_or_raise(run_interruptibly(
            [&, path = text_of(folder)] { return StagedFolder::open(path, options); }))};
      },
      "folder"_a, nb::kw_only(), "piece_bytes"_a = 0, "memory_bytes"_a = 0, "threads"_a = 0, "sync"_a = true);
  m.def("stage", &stage_data, "source"_a, "folder"_a, nb::kw_only(), "headers"_a = std::vector<std::string>(),
        "piece_bytes"_a = 0, "memory_bytes"_a = 0, "threads"_a = 0, "sync"_a = true, "progress"_a = nb::none());
  m.def("check_staged", &check_folder, "folder"_a, nb::kw_only(), "progress"_a = nb::none());
}

}  // namespace penstock::python
