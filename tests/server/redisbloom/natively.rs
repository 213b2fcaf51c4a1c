//! New filters in RedisBloom's layout, by the setting or by an option of the call. `recorded` fills
//! them as RedisBloom did.

use bloomline_harness::{Setup, rows};

#[test]
fn with_the_setting_all_numbers_are_redisblooms() {
    Setup::new().module_args("bf-layout redisbloom").check_rows(rows![
        "BF.RESERVE k 0.001 2000" => "+OK";
        "BF.INFO k SIZE" => "*[:4056]" | "%{+Size :4056}";
        "BF.ADD a x" => ":1" | "#t";
        "BF.DEBUG a" => "*[$6 size:1 $73 bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005]";
        "BF.INSERT i CAPACITY 100 ERROR 0.01 ITEMS x" => "*[:1]" | "*[#t]";
        "BF.DEBUG i" => "*[$6 size:1 $73 bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005]";
        "BF.RESERVE big 0.01 1073741825" => "-ERR capacity must be in the range [1, 1073741824]";
        "BF.INSERT big CAPACITY 1073741825 ITEMS x" => "-Bad capacity";
        "BF.RESERVE own 0.01 100 LAYOUT bloomline" => "+OK";
        "BF.STATS own layout" => "*[$6 layout $9 bloomline]" | "%{$6 layout $9 bloomline}";
    ]);
}

#[test]
fn the_option_layout_applies_to_one_key() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.001 2000 LAYOUT redisbloom" => "+OK";
        "BF.INFO k SIZE" => "*[:4056]" | "%{+Size :4056}";
        "BF.INSERT i CAPACITY 100 LAYOUT redisbloom ITEMS x" => "*[:1]" | "*[#t]";
        "BF.DEBUG i" => "*[$6 size:1 $73 bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005]";
        "BF.RESERVE big 0.01 1073741825 LAYOUT redisbloom" => "-ERR capacity must be in the range [1, 1073741824]";
        "BF.ADD own x" => ":1" | "#t";
        "BF.STATS own layout" => "*[$6 layout $9 bloomline]" | "%{$6 layout $9 bloomline}";
    ]);
}
