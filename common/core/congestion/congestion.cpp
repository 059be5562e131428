#include "common/core/congestion/congestion.h"

#include "common/core/congestion/congestion_auto.h"
#include "common/core/congestion/congestion_cubic.h"
#include "common/core/congestion/congestion_daimd.h"
#include "common/core/congestion/congestion_fixed.h"
#include "common/core/congestion/congestion_none.h"

namespace mcdtp {

std::optional<Pacing> find_pacing(std::string_view name) {
  if (name.empty()) return Pacing::kTrains;
  if (name == "even") return Pacing::kEven;
  if (name == "burst") return Pacing::kBurst;
  return std::nullopt;
}

std::unique_ptr<CongestionController> make_congestion(std::string_view name,
                                                      std::optional<std::uint64_t> rate_bps, Pacing pacing,
                                                      std::uint64_t seed) {
  if (name == "auto") return std::make_unique<CongestionAuto>();
  if (name == "fixed" && rate_bps && *rate_bps > 0)
    return std::make_unique<CongestionFixed>(*rate_bps, pacing);
  if (name == "daimd") return std::make_unique<CongestionDaimd>(seed);
  if (name == "none") return std::make_unique<CongestionNone>();
  if (name == "cubic") return std::make_unique<CongestionCubic>();
  return nullptr;
}

}  // namespace mcdtp
