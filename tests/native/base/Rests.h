// Whether memory that is let go rests: AddressSanitizer watches that nobody uses it, so there nothing does.
#pragma once

namespace bloomery {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kRests = false;
#else
constexpr bool kRests = true;
#endif

}  // namespace bloomery
