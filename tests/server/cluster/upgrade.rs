//! Rolling upgrades: primary and replica take over the filters of an earlier release unchanged.

use bloomline_harness::{Client, Stop, for_each_server_long, int, numbered, show};
use bloomline_reference::golden::{Golden, all};

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};
use crate::entry_points::golden::load;

/// Asserts that a filter is dumped as by the earlier release, and has its items: the decimal
/// numbers from 0; a windowed filter has the last of them.
fn assert_unchanged(client: &mut Client, Golden { key, header, bits }: &Golden) {
    let chunks: Vec<Vec<u8>> = client.chunks(key).into_iter().map(|(_, data)| data).collect();
    assert!(chunks[0] == *header, "{key} has another header");
    assert!(chunks[1..].concat() == *bits, "{key} has other bits");
    let len = int(&client.call(&format!("BF.CARD {key}")));
    // More numbers than any of the filters has got. The header of a windowed filter has version 2.
    let numbers = if header[8] == 2 { 20_000 } else { len };
    if len > 0 {
        let items: Vec<String> = (0..numbers).map(|number| number.to_string()).collect();
        let found = show(&client.items("BF.MEXISTS", key, &items)).matches(":1").count();
        assert!(found as i64 >= len, "{key} lost an item: {found} of {len}");
    }
}

#[test]
fn filters_of_earlier_releases_are_taken_over() {
    let golden = all();
    for_each_server_long(|kind| {
        let mut primary = setup().start(kind);
        let replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        for filter in &golden {
            load(&mut client, filter);
        }
        catch_up(&mut client, &mut follower);
        for filter in &golden {
            assert_unchanged(&mut client, filter);
            assert_unchanged(&mut follower, filter);
        }

        primary.restart(Stop::Save);
        let mut client = primary.resp2();
        for filter in &golden {
            assert_unchanged(&mut client, filter);
            // They continue equally on both sides, and grow if they may.
            client.items("BF.MADD", &filter.key, &numbered("later", 300));
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
    });
}
