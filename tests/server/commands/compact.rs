//! BF.COMPACT: its reply, the number of bytes by which the filter has become smaller, and what the
//! filter is afterwards.

use bloomline_harness::{Setup, numbered, show};

use crate::filters::{build, compact, compactable};
use crate::inspect::{digest, info_field, number, sum_of_infos, totals};

#[test]
fn the_reply_is_the_change_of_size() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let filters = compactable();
        build(&mut client, &filters);
        let keys: Vec<&str> = filters.iter().map(|filter| filter.key.as_str()).collect();
        let (mut count, mut bytes) = (0, 0);
        for key in &keys {
            let before = info_field(&mut client, key, "SIZE");
            let items = info_field(&mut client, key, "ITEMS");
            let layers = info_field(&mut client, key, "FILTERS");
            let freed = compact(&mut client, key);
            assert!(freed >= before / 16 / 4, "{key}: {freed} of {before} bytes");
            assert_eq!(info_field(&mut client, key, "SIZE"), before - freed, "{key}");
            assert_eq!(info_field(&mut client, key, "ITEMS"), items, "{key}");
            assert_eq!(info_field(&mut client, key, "FILTERS"), layers, "{key}");
            count += 1;
            bytes += freed;
            assert_eq!(number(&mut client, "compactions"), count);
            assert_eq!(number(&mut client, "bytes_compacted"), bytes);
            assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys), "{key}");
            // The targets are 0.1 and 1 %, and the seeds are constant.
            let absent = show(&client.items("BF.MEXISTS", key, &numbered("absent", 2000)));
            assert!(absent.matches(":1").count() < 20, "{key}");
        }
        for filter in &filters {
            filter.assert_has_items(&mut client);
        }
    });
}

#[test]
fn small_full_and_windowed_filters_stay_as_they_are() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE page 0.01 300");
        client.ok("BF.RESERVE full 0.0001 5000 NONSCALING");
        client.items("BF.MADD", "full", &numbered("item", 4_990));
        for key in ["page", "full"] {
            let before = digest(&mut client, key);
            assert_eq!(compact(&mut client, key), 0, "{key}");
            assert_eq!(digest(&mut client, key), before, "{key}");
        }
        let remedy = "its memory is freed when its generations are dropped: create it with the \
                      capacity of one window, or without WINDOW, LAST and GENERATIONS";
        for (key, options) in
            [("window", "WINDOW 1000"), ("last", "LAST"), ("hand", "GENERATIONS 2")]
        {
            client.ok(&format!("BF.RESERVE {key} 0.01 50000 {options}"));
            let before = digest(&mut client, key);
            let refused = format!("-ERR cannot compact: the filter has a window: {remedy}");
            assert_eq!(client.ask(&format!("BF.COMPACT {key}")), refused);
            assert_eq!(digest(&mut client, key), before, "{key}");
        }
    });
}
