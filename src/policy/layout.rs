//! What the module knows of each layout: its name, and what differs for users.

use crate::server::args::Arg;
use crate::server::command_docs::ArgSpec;
use bloomline_core::Layout;
use bloomline_core::host::{MAX_CAPACITY, MAX_ERROR_RATE, MAX_EXPANSION, valkey};

pub struct LayoutRow {
    pub layout: Layout,
    /// Its name in settings and replies, and as the value of LAYOUT.
    pub docs: ArgSpec,
    /// The largest capacity of the first layer of a Bloom filter that a client creates.
    pub max_capacity: u64,
    /// The largest target rate. A larger one is replaced by it.
    pub max_error_rate: f64,
    /// The largest expansion of a Bloom filter that a client creates.
    pub max_expansion: u32,
    /// True if cuckoo filters have it, too.
    pub has_cuckoo: bool,
    /// True if RedisBloom reads its filters. They keep RedisBloom's habits here.
    pub is_redisbloom: bool,
    /// Bytes before the bits of a layer, if a layer is one string of an RDB file.
    pub string_header: Option<u64>,
}

/// This project's layout.
const BLOOMLINE: LayoutRow = LayoutRow {
    layout: Layout::Bloomline,
    docs: ArgSpec::choice(c"bloomline", c"BLOOMLINE"),
    max_capacity: MAX_CAPACITY,
    max_error_rate: MAX_ERROR_RATE,
    max_expansion: MAX_EXPANSION,
    has_cuckoo: true,
    is_redisbloom: false,
    string_header: None,
};
/// RedisBloom's layout, with RedisBloom's limit of the capacity.
const REDISBLOOM: LayoutRow = LayoutRow {
    layout: Layout::RedisBloom,
    docs: ArgSpec::choice(c"redisbloom", c"REDISBLOOM"),
    max_capacity: 1 << 30,
    max_error_rate: MAX_ERROR_RATE,
    max_expansion: MAX_EXPANSION,
    has_cuckoo: true,
    is_redisbloom: true,
    string_header: Some(0),
};
/// valkey-bloom's layout, with its limit of the capacity. Cuckoo filters do not have it.
const VALKEY_BLOOM: LayoutRow = LayoutRow {
    layout: Layout::ValkeyBloom,
    docs: ArgSpec::choice(c"valkey-bloom", c"VALKEY-BLOOM"),
    max_capacity: valkey::MAX_CAPACITY,
    max_error_rate: 1.0,
    max_expansion: u32::MAX,
    has_cuckoo: false,
    is_redisbloom: false,
    string_header: Some(valkey::LAYER_HEADER_BYTES),
};

/// All layouts, the default first.
pub static ALL: [LayoutRow; 3] = [BLOOMLINE, REDISBLOOM, VALKEY_BLOOM];

/// The values of LAYOUT for Bloom filters.
pub const CHOICES: &[ArgSpec] = &[BLOOMLINE.docs, REDISBLOOM.docs, VALKEY_BLOOM.docs];
/// The values of LAYOUT for cuckoo filters.
pub const CUCKOO_CHOICES: &[ArgSpec] = &[BLOOMLINE.docs, REDISBLOOM.docs];

impl LayoutRow {
    pub fn of(layout: Layout) -> &'static Self {
        match layout {
            Layout::Bloomline => &BLOOMLINE,
            Layout::RedisBloom => &REDISBLOOM,
            Layout::ValkeyBloom => &VALKEY_BLOOM,
        }
    }

    /// The row of the layout with this name; none if there is none.
    pub fn named(name: Arg) -> Option<&'static Self> {
        ALL.iter().find(|row| row.docs.has_token(name))
    }

    pub fn name(&self) -> &'static str {
        self.docs.name.to_str().unwrap_or_default()
    }
}
