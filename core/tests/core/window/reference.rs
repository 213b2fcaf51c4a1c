//! Random programs, compared with the reference model bit by bit; see
//! `bloomline_reference::checks::windowed`.

use bloomline_reference::checks::windowed;
use bloomline_reference::random::Random;

#[test]
fn random_programs_equal_the_reference_model() {
    let (programs, bytes) = if cfg!(miri) { (3, 40) } else { (6_000, 1_500) };
    let mut accepted = 0;
    for seed in 0..programs {
        let mut random = Random::new(seed + (1 << 32));
        let len = 16 + random.below(bytes);
        let program: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        accepted += u64::from(windowed::run(&program));
    }
    assert!(accepted * 2 > programs, "{accepted} of {programs} programs had a filter");
}
