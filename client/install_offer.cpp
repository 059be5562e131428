#include "client/install_offer.h"

#include <algorithm>
#include <filesystem>

#include "common/core/sha256.h"
#include "common/io/file_text.h"

namespace mcdtp {
namespace {

constexpr std::string_view kStart = "mcdtp-server.";
constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::size_t kMarkDigits = 16;

// Machines' names go into paths and scripts of the far host.
bool is_machine(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

void look_into(const std::string& folder, InstallOffer& offer) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStart) || !is_machine(name.substr(kStart.size()))) continue;
    if (entry.is_regular_file(error)) offer.files.emplace(name.substr(kStart.size()), entry.path().string());
  }
}

}  // namespace

std::optional<InstallOffer> find_install_offer(const std::vector<std::string>& folders) {
  InstallOffer offer;
  for (const std::string& folder : folders) look_into(folder, offer);
  std::string marks;
  for (const auto& [machine, path] : offer.files) {
    const FileText file = read_file_text(path, kMostBytes);
    if (file.error == 0) marks += machine + sha256_hex(file.text);
  }
  if (marks.empty()) return std::nullopt;
  offer.version = MCDTP_VERSION "-" + sha256_hex(marks).substr(0, kMarkDigits);
  return offer;
}

std::vector<std::string> install_folders() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto folder = program.parent_path();
  return {folder.string(), (folder.parent_path() / MCDTP_LIBDIR / "mcdtp").string()};
}

std::string install_answer(const InstallOffer& offer, const std::string& machine) {
  const auto found = offer.files.find(machine);
  const FileText file =
      found == offer.files.end() ? FileText{"", -1} : read_file_text(found->second, kMostBytes);
  if (file.error != 0 || file.text.empty()) return "none\n";
  return "send " + std::to_string(file.text.size()) + " " + sha256_hex(file.text) + "\n" + file.text;
}

}  // namespace mcdtp
