#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mcdtp {

// The statically linked servers that we can bring to a far host which has none.
struct InstallOffer {
  std::string version;                       // the far folder's name: ours, and a mark of the files' bytes
  std::map<std::string, std::string> files;  // paths, by machine as `uname -m` names it
};

// Looks for files mcdtp-server.MACHINE in `folders`; of two for a machine the first counts. Nothing: there are none.
std::optional<InstallOffer> find_install_offer(const std::vector<std::string>& folders);
// Beside this program, and in the folder where `cmake --install` puts them.
std::vector<std::string> install_folders();

// What a far shell that waits for a server is told: "send SIZE SHA256", a newline and the file; "none" and a newline
// where there is none for its machine.
std::string install_answer(const InstallOffer& offer, const std::string& machine);

}  // namespace mcdtp
