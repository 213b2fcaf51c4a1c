//! Bytes from outside as headers and chunks; see `bloomline_fuzz::decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_fuzz::decode::run(bytes);
});
