//! Growth at a limit of memory, which ends with the same item as in valkey-bloom.

use bloomline_core::Error;
use bloomline_core::bloom::valkey::ValkeyFilter;
use bloomline_core::host::Demand;
use bloomline_core::host::valkey::ValkeyParams;
use bloomline_reference::valkey::Model;

/// The layers after which growth is tested: from 1, 4, 8 and 16 on the vector grows.
const MOST_LAYERS: usize = 18;

const PARAMS: ValkeyParams = ValkeyParams {
    expansion: 1,
    error_rate: 0.001,
    tightening: 0.9,
    seed: [48; 32],
    is_random: true,
};

fn within(limit: u64) -> impl FnMut(Demand) -> bool {
    move |demand| demand.filter_bytes <= limit
}

/// A filter and its model, filled until it has a number of layers, the newest of them full.
fn filled(layers: usize) -> (ValkeyFilter, Model) {
    let mut filter = ValkeyFilter::new(30, PARAMS, &mut within(u64::MAX)).expect("memory");
    let ValkeyParams { error_rate, tightening, seed, .. } = PARAMS;
    let mut model = Model::new(30, error_rate, 1, tightening, seed);
    let is_full = |model: &Model| model.layers.len() == layers && model.newest_len == 30;
    for number in 0.. {
        let item = format!("{number}");
        if is_full(&model) {
            break;
        }
        model.insert(item.as_bytes());
        filter.insert(item.as_bytes(), &mut within(u64::MAX)).expect("memory");
    }
    assert_eq!((filter.layer_count() as usize, filter.len()), (layers, model.len()));
    (filter, model)
}

#[test]
fn growth_counts_the_vector_of_before() {
    for layers in 1..MOST_LAYERS {
        let (mut filter, model) = filled(layers);
        let limit = model.size_with_next();
        let new = (0..).map(|n| format!("new {n}")).find(|item| !model.contains(item.as_bytes()));
        let new = new.expect("a new item");
        let refused = filter.insert(new.as_bytes(), &mut within(limit - 1));
        assert_eq!(refused, Err(Error::Refused(limit)), "{layers} layers");
        assert_eq!(filter.layer_count() as usize, layers);
        filter.insert(new.as_bytes(), &mut within(limit)).expect("memory");
        assert_eq!(filter.layer_count() as usize, layers + 1);
        // What may grow may be copied and loaded.
        filter.try_clone(&mut within(limit)).expect("memory");
        let payload = filter.encode_payload().expect("memory");
        let header = filter.encode_header();
        for limit in [limit - 1, limit] {
            let is_allowed = limit == model.size_with_next();
            let loaded = ValkeyFilter::decode_payload(&payload, &mut within(limit));
            assert_eq!(loaded.is_ok(), is_allowed, "{layers} layers");
            let decoded = ValkeyFilter::decode_header(&header, &mut within(limit));
            assert_eq!(decoded.is_ok(), is_allowed, "{layers} layers");
        }
    }
}
