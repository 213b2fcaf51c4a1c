//! The types of the server, and which of them a filter has: that follows from its layout.
//!
//! A filter keeps its layout for life, and so its type: the type of a new value, of a loaded one
//! and of a copy is that of [`DataType::server_type`](super::family::DataType::server_type).

use super::callbacks::methods;
use super::encodings::{Bloom, Cuckoo, Encoding, ValkeyBloom};
use super::server_type::ServerType;
use crate::server::loading::Loading;

/// RedisBloom's type of Bloom filters, which Bloomline's layout shares.
pub static BLOOM: ServerType = row::<Bloom>();
pub static VALKEY_BLOOM: ServerType = row::<ValkeyBloom>();
/// RedisBloom's type of cuckoo filters, which Bloomline's layout shares.
pub static CUCKOO: ServerType = row::<Cuckoo>();

pub static BLOOM_TYPES: [&ServerType; 2] = [&BLOOM, &VALKEY_BLOOM];
pub static CUCKOO_TYPES: [&ServerType; 1] = [&CUCKOO];

const fn row<E: Encoding>() -> ServerType {
    ServerType::new(E::NAME, E::VERSION, methods::<E>())
}

/// Registers the types. False if the server refuses one.
pub fn register(loading: Loading) -> bool {
    BLOOM_TYPES.iter().chain(&CUCKOO_TYPES).all(|server_type| server_type.register(loading))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::super::family::DataType;
    use super::super::rdb::is_of_type;
    use super::{BLOOM, Bloom, VALKEY_BLOOM, ValkeyBloom};
    use bloomline_core::Error;
    use bloomline_core::host::valkey::{FIXED_SEED, ValkeyFilter};
    use bloomline_core::host::{AnyFilter, Filter, Growth, Spec, valkey};

    #[test]
    fn filters_are_saved_by_their_own_type_only() -> Result<(), Error> {
        let spec = Spec { capacity: 9, error_rate: 0.01, growth: Growth::Fixed };
        let params = valkey::ValkeyParams {
            expansion: 0,
            error_rate: 0.01,
            tightening: 0.5,
            seed: FIXED_SEED,
            is_random: false,
        };
        let own = AnyFilter::from(Filter::new(spec, 1, &mut |_| true)?);
        let redisbloom = AnyFilter::redisbloom(spec, 2, &mut |_| true)?;
        let of_valkey = AnyFilter::from(ValkeyFilter::new(9, params, &mut |_| true)?);
        for filter in [own, redisbloom, of_valkey] {
            let is_valkey = ptr::eq(filter.server_type(), &VALKEY_BLOOM);
            assert_eq!(is_valkey, !ptr::eq(filter.server_type(), &BLOOM));
            assert_eq!(is_valkey, is_of_type::<ValkeyBloom>(&filter));
            assert_eq!(is_valkey, !is_of_type::<Bloom>(&filter));
        }
        Ok(())
    }
}
