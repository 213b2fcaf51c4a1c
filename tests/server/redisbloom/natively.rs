//! New filters in RedisBloom's layout, by the setting or by an option of the call.

use bloomline_harness::{Row, Setup, check_rows, for_each_server, rows, show};

use super::seen::{assert_recorded, digits};
use bloomline_reference::fixture::fixtures;

#[test]
fn the_setting_makes_the_filters_of_redisbloom() {
    Setup::new().module_args("bf-layout redisbloom").on_each_server(|mut client, _| {
        for fixture in fixtures() {
            if fixture.created_from_header().is_some() {
                continue;
            }
            if let Some(mut words) = fixture.create() {
                words[1] = "k".into();
                assert_eq!(show(&client.run(&words)), "+OK", "{}", fixture.name);
            }
            let mut replies = String::new();
            for group in fixture.items().chunks(100) {
                replies += &digits(&client.items("BF.MADD", "k", group));
            }
            assert_eq!(replies, fixture.replies(), "{}", fixture.name);
            assert_recorded(&mut client, "k", &fixture);
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn with_the_setting_all_numbers_are_redisblooms() {
    const ROWS: &[Row] = rows![
        "BF.RESERVE k 0.001 2000" => "+OK";
        "BF.INFO k SIZE" => "*[:4056]" | "%{+Size :4056}";
        "BF.ADD a x" => ":1" | "#t";
        "BF.DEBUG a" => "*[$6 size:1 $73 bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005]";
        "BF.INSERT i CAPACITY 100 ERROR 0.01 ITEMS x" => "*[:1]" | "*[#t]";
        "BF.DEBUG i" => "*[$6 size:1 $73 bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005]";
        "BF.RESERVE big 0.01 1073741825" => "-ERR capacity must be in the range [1, 1073741824]";
        "BF.INSERT big CAPACITY 1073741825 ITEMS x" => "-Bad capacity";
        "BF.RESERVE own 0.01 100 LAYOUT bloomline" => "+OK";
        "BF.INFO own LAYOUT" => "*[$9 bloomline]" | "%{+Layout $9 bloomline}";
    ];
    for_each_server(|kind| {
        check_rows(kind, Setup::new().module_args("bf-layout redisbloom"), ROWS)
    });
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
        "BF.INFO own LAYOUT" => "*[$9 bloomline]" | "%{+Layout $9 bloomline}";
    ]);
}
