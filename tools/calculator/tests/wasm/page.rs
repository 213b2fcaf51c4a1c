//! The file as WebAssembly: how it is called.

use std::fs;
use std::path::Path;

use bloomline_calculator::{Column, Value};
use bloomline_core::bloom::bloomline::BlockedPlan;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use wasmi::{Engine, Linker, Module, Store, TypedFunc, WasmParams, WasmResults};

/// A page loads the file before it shows a number.
const MOST_BYTES: usize = 60_000;

/// The bytes of a text in base64, whose lines may end anywhere.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.chars().filter(|digit| !digit.is_whitespace() && *digit != '=');
    let (mut bytes, mut bits, mut width) = (Vec::new(), 0u32, 0);
    for digit in digits {
        bits = (bits << 6 | DIGITS.find(digit).expect("base64") as u32) & 0xffff;
        width += 6;
        if width >= 8 {
            width -= 8;
            bytes.push((bits >> width) as u8);
        }
    }
    bytes
}

/// The file in an interpreter.
pub struct Page {
    store: Store<()>,
    instance: wasmi::Instance,
}

impl Page {
    /// The file that the page `docs/calculator` has.
    pub fn checked_in() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/calculator/core.js");
        let script = fs::read_to_string(path).expect("run `make calculator`");
        let file = base64(script.split('`').nth(3).expect("a text in backquotes"));
        assert!(file.len() < MOST_BYTES, "{} bytes", file.len());
        let module = Module::new(&Engine::default(), file).expect("WebAssembly");
        let mut store = Store::new(module.engine(), ());
        let linker = Linker::new(module.engine());
        let instance = linker.instantiate_and_start(&mut store, &module).expect("no imports");
        Self { store, instance }
    }

    /// Calls an exported function, which must not trap.
    pub fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, arguments: P) -> R {
        let function: TypedFunc<P, R> =
            self.instance.get_typed_func(&self.store, name).expect(name);
        function.call(&mut self.store, arguments).expect(name)
    }

    pub fn plan(&mut self, [items, capacity, error_rate, expansion]: [f64; 4]) -> i32 {
        self.call("plan", (items, capacity, error_rate, expansion))
    }

    pub fn plan_forgetting(
        &mut self,
        size: [f64; 4],
        [seconds, number, refreshes]: [f64; 3],
    ) -> i32 {
        let [items, capacity, error_rate, expansion] = size;
        let arguments = (items, capacity, error_rate, expansion, seconds, number, refreshes);
        self.call("plan_forgetting", arguments)
    }

    pub fn values(&mut self) -> [f64; 6] {
        Value::ALL.first_chunk().unwrap().map(|value| self.call("value", value as u32))
    }

    /// RedisBloom's bytes and layers, the bytes of the theory and of a classic Bloom filter.
    pub fn compared(&mut self) -> [f64; 4] {
        Value::ALL[6..].first_chunk().unwrap().map(|value| self.call("value", value as u32))
    }

    /// Bytes of `used_memory`.
    pub fn used_bytes(&mut self) -> f64 {
        self.call("value", Value::UsedBytes as u32)
    }

    fn row(&mut self, index: u32) -> [f64; 6] {
        Column::ALL.map(|column| self.call("layer", (index, column as u32)))
    }

    pub fn rate_at(&mut self, items: u64) -> f64 {
        self.call("rate_at", items as f64)
    }

    /// Checks that a plan has layers and values, or that a refusal leaves none.
    pub fn check_answer(&mut self, count: i32) {
        assert!(count > 0 || (-10..0).contains(&count), "{count}");
        // A windowed filter has no bytes after a compaction.
        let [bytes, compacted, rest @ ..] = self.values();
        let is_planned = |number: &f64| number.is_nan() == (count < 0);
        assert!(is_planned(&bytes) && rest.iter().all(is_planned), "{count}: {bytes} {rest:?}");
        assert!(count > 0 || compacted.is_nan(), "{count}: {compacted}");
        let compared = self.compared();
        assert!(count > 0 || compared.iter().all(|number| number.is_nan()), "{compared:?}");
    }

    /// Compares the layers that the page has with these.
    pub fn check_layers<'a>(
        &mut self,
        count: i32,
        layers: impl Iterator<Item = (&'a BlockedPlan, u64)>,
    ) {
        let mut index = 0;
        for (layer, len) in layers {
            let (capacity, geometry) = (layer.capacity() as f64, layer.geometry());
            let bytes = geometry.bytes() as f64;
            let (hashes, rate) = (f64::from(geometry.hashes()), fp_rate(geometry, len));
            let row = [capacity, len as f64, bytes, bytes * 8.0 / capacity, hashes, rate];
            assert_eq!(self.row(index), row, "layer {index}");
            index += 1;
        }
        assert_eq!(count, index as i32);
        assert!(self.row(index).iter().all(|number| number.is_nan()));
    }
}
