//! Any bytes as headers and chunks; see `bloomline_reference::checks::decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_reference::checks::decode::run(bytes);
});
