//! Any values of RDB files; see `bloomline_reference::checks::values`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_reference::checks::values::run(bytes);
});
