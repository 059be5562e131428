#include "common/core/congestion.h"

#include "common/core/congestion_auto.h"
#include "common/core/congestion_cubic.h"
#include "common/core/congestion_fixed.h"

namespace mcdtp {

std::unique_ptr<CongestionController> make_congestion(std::string_view name,
                                                      std::optional<std::uint64_t> rate_bps) {
  if (name == "auto") return std::make_unique<CongestionAuto>();
  if (name == "fixed" && rate_bps && *rate_bps > 0) return std::make_unique<CongestionFixed>(*rate_bps);
  if (name == "cubic") return std::make_unique<CongestionCubic>();
  return nullptr;
}

}  // namespace mcdtp
