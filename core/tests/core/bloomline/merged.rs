//! A merged filter follows from its header, also if layers were merged above their capacity.

use bloomline_core::error::Parameter;
use bloomline_core::{AnyFilter, Error, Filter, Growth, Spec};

const SPEC: Spec =
    Spec { capacity: 10_000, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };

fn filter_of(items: std::ops::Range<u32>) -> AnyFilter {
    let mut filter = AnyFilter::from(Filter::new(SPEC, 1, &mut |_| true).unwrap());
    for item in items {
        filter.insert(&item.to_le_bytes(), &mut |_| true).unwrap();
    }
    filter
}

#[test]
fn layers_that_follow_from_another_capacity_are_not_copied() {
    let mut above = filter_of(0..10_000);
    above.union(&[&filter_of(9_500..10_500)], &mut |_| true).unwrap();
    let (capacity, header) = (above.capacity(), above.encode_header());
    assert!(capacity > SPEC.capacity);

    let mut grown = filter_of(0..12_000);
    let differs = Err(Error::Differs(Parameter::Layer(0)));
    assert_eq!(above.union(&[&grown], &mut |_| true), differs);
    assert_eq!(above.encode_header(), header);
    assert!(matches!(
        grown.union(&[&above], &mut |_| true),
        Err(Error::LayerFull { .. } | Error::RateExceeded { .. })
    ));
}
