//! Forged filters at the edges of what is valid: all of their encodings are accepted, or none, and
//! what is accepted is carried by each encoding and grows.

use std::collections::BTreeMap;

use bloomline_core::Layout;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{self, AnyFilter, Demand, Growth, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::accepted::{assert_valid, assert_works};
use bloomline_reference::checks::encodings::{assert_carried, assert_cuckoo_carried};
use bloomline_reference::edges::{Forged, LIMIT, all};
use bloomline_reference::life::filter::Filter;
use bloomline_reference::payload::{FieldError, bloom_of, cuckoo_of};

fn permit(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// The filter of each encoding.
fn decoded(forged: &Forged) -> Vec<Result<Filter, FieldError>> {
    if forged.is_cuckoo() {
        let header = AnyCuckoo::decode_header(&forged.header(), &mut permit);
        let value = cuckoo_of(&forged.fields(), &mut permit);
        return vec![
            header.map_err(FieldError::Core).map(Filter::Cuckoo),
            value.map(Filter::Cuckoo),
        ];
    }
    let layout = match forged {
        Forged::ValkeyBloom(_) => Layout::ValkeyBloom,
        _ => Layout::Bloomline,
    };
    let header = AnyFilter::decode_header(&forged.header(), &mut permit);
    let mut results = vec![header.map_err(FieldError::Core)];
    results.push(bloom_of(layout, &forged.fields(), &mut permit));
    if let Some(payload) = forged.payload() {
        let loaded = ValkeyFilter::decode_payload(&payload, &mut permit);
        results.push(loaded.map(Into::into).map_err(FieldError::Core));
    }
    results.into_iter().map(|result| result.map(Filter::Bloom)).collect()
}

/// True if a filter is accepted, which must be valid.
fn is_accepted(what: &str, forged: &Forged) -> bool {
    let results = decoded(forged);
    let Ok(first) = &results[0] else {
        assert!(results.iter().all(Result::is_err), "{what}: {results:?}");
        return false;
    };
    for result in &results {
        assert!(result.as_ref().is_ok_and(|filter| filter == first), "{what}: {results:?}");
    }
    assert_valid(first);
    assert_works(first.copy());
    true
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn all_encodings_of_a_forged_filter_are_accepted_or_none() {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (what, forged) in all() {
        let is_accepted = is_accepted(what, &forged);
        println!("{}: {what}: {is_accepted}", forged.layout());
        let [offered, accepted] = counts.entry(forged.layout()).or_default();
        *offered += 1;
        *accepted += usize::from(is_accepted);
    }
    println!("{counts:?}");
    let are_both = |[offered, accepted]: &[usize; 2]| *accepted > 5 && offered - accepted > 5;
    assert!(counts.len() == 5 && counts.values().all(are_both), "{counts:?}");
}

/// Bits in Bloomline's layouts are stored in strings of 2 MiB, of which those of zeros are empty.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn filters_of_several_strings_are_carried_by_all_encodings() {
    let spec = Spec { capacity: 5_000_000, error_rate: 0.01, growth: Growth::Fixed };
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let cuckoo = CuckooSpec { capacity: 5_000_000, error_rate: 0.01, options };
    let mut bloom = [
        AnyFilter::from(host::Filter::new(spec, 7, &mut |_| true).unwrap()),
        AnyFilter::redisbloom(spec, 7, &mut |_| true).unwrap(),
    ];
    let mut cuckoo = [
        AnyCuckoo::bloomline(cuckoo, 7, &mut |_| true).unwrap(),
        AnyCuckoo::redisbloom(5_000_000, options, &mut |_| true).unwrap(),
    ];
    for count in [0, 1, 1_000u32] {
        for item in (0..count).map(u32::to_le_bytes) {
            for filter in &mut bloom {
                filter.insert_item(&item, 0, &mut |_| true).unwrap();
            }
            for filter in &mut cuckoo {
                filter.insert(&item, &mut |_| true).unwrap();
            }
        }
        bloom.iter().for_each(assert_carried);
        cuckoo.iter().for_each(assert_cuckoo_carried);
    }
    assert!(bloom.iter().all(|filter| filter.size_bytes() > 5 << 20));
    assert!(cuckoo.iter().all(|filter| filter.size_bytes() > 4 << 20));
}
