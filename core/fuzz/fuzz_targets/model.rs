//! Lives of filters, compared with the reference models and with what filters promise; see
//! `bloomline_reference::life`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bloomline_reference::life::run::run_bytes(bytes);
});
