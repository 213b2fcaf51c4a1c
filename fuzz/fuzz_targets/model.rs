//! Programs of operations on a filter beside its models; see `bloomline_fuzz::model`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_fuzz::model::run(bytes);
});
