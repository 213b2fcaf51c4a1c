//! Programs of operations, compared with the reference models; see
//! `bloomline_reference::checks::model`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_reference::checks::model::run(bytes);
});
