//! Any bytes as filters of valkey-bloom; see `bloomline_reference::checks::valkey`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_reference::checks::valkey::run(bytes);
});
