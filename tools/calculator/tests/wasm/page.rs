//! The file as WebAssembly: how it is called.

use std::fs;
use std::path::Path;

use bloomline_calculator::{COLUMNS, VALUES};
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

    /// All values, in the order of their numbers.
    pub fn values(&mut self) -> [f64; VALUES.len()] {
        std::array::from_fn(|number| self.call("value", number as u32))
    }

    fn row(&mut self, index: u32) -> [f64; COLUMNS.len()] {
        std::array::from_fn(|column| self.call("layer", (index, column as u32)))
    }

    pub fn rate_at(&mut self, items: u64) -> f64 {
        self.call("rate_at", items as f64)
    }

    /// Checks that a plan has layers and values, or that a refusal leaves none.
    pub fn check_answer(&mut self, count: i32) {
        assert!(count > 0 || (-10..0).contains(&count), "{count}");
        for (number, value) in self.values().into_iter().enumerate() {
            // A windowed filter has neither bytes after a compaction nor those of RedisBloom.
            let may_be_missing = [1, 6, 7].contains(&number);
            let is_right = value.is_nan() == (count < 0) || count > 0 && may_be_missing;
            assert!(is_right, "{count}: value {number} is {value}");
        }
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
