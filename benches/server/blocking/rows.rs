//! The rows of the table, and the contents of a cell.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::filters::Layout;

/// What is timed, in the order of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Row {
    Reserve,
    Grow,
    Rotate,
    AddRotates,
    Exists,
    MAdd,
    MExists,
    Card,
    Info,
    InfoFill,
    InfoFpRate,
    Debug,
    DumpHeader,
    DumpChunk,
    DumpAll,
    LoadHeader,
    LoadChunk,
    Copy,
    PlainCopy,
    Merge,
    PlainOr,
    Compact,
    PlainFold,
    Dump,
    Restore,
    Del,
    Unlink,
    MemoryUsage,
    Digest,
    Save,
    BgSaveFork,
    BgSaveChild,
    CfReserve,
    CfCompact,
    CfCopy,
    CfDel,
    CfUnlink,
    CfSave,
}

use Row::*;

impl Row {
    pub const ALL: [Row; 38] = [
        Reserve,
        Grow,
        Rotate,
        AddRotates,
        Exists,
        MAdd,
        MExists,
        Card,
        Info,
        InfoFill,
        InfoFpRate,
        Debug,
        DumpHeader,
        DumpChunk,
        DumpAll,
        LoadHeader,
        LoadChunk,
        Copy,
        PlainCopy,
        Merge,
        PlainOr,
        Compact,
        PlainFold,
        Dump,
        Restore,
        Del,
        Unlink,
        MemoryUsage,
        Digest,
        Save,
        BgSaveFork,
        BgSaveChild,
        CfReserve,
        CfCompact,
        CfCopy,
        CfDel,
        CfUnlink,
        CfSave,
    ];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Reserve => "BF.RESERVE",
            Grow => "BF.ADD that adds a layer",
            Rotate => "BF.ROTATE, 9 generations",
            AddRotates => "BF.ADD that rotates, 9 generations",
            Exists => "BF.EXISTS",
            MAdd => "BF.MADD, 1,000 new items",
            MExists => "BF.MEXISTS, 1,000 items",
            Card => "BF.CARD",
            Info => "BF.INFO",
            InfoFill => "BF.INFO FILL",
            InfoFpRate => "BF.INFO FPRATE",
            Debug => "BF.DEBUG",
            DumpHeader => "BF.SCANDUMP, header",
            DumpChunk => "BF.SCANDUMP, longest chunk",
            DumpAll => "BF.SCANDUMP, sum of chunks",
            LoadHeader => "BF.LOADCHUNK, header",
            LoadChunk => "BF.LOADCHUNK, first chunk",
            Copy => "COPY",
            PlainCopy => "plain copy",
            Merge => "BF.MERGE into a filled filter",
            PlainOr => "plain OR of as much memory",
            Compact => "BF.COMPACT, 60 % full",
            PlainFold => "plain OR of one half into the other",
            Dump => "DUMP",
            Restore => "RESTORE",
            Del => "DEL",
            Unlink => "UNLINK",
            MemoryUsage => "MEMORY USAGE",
            Digest => "DEBUG DIGEST-VALUE",
            Save => "SAVE",
            BgSaveFork => "BGSAVE, fork",
            BgSaveChild => "BGSAVE, child",
            CfReserve => "CF.RESERVE",
            CfCompact => "CF.COMPACT, 5 % full",
            CfCopy => "COPY of a cuckoo filter",
            CfDel => "DEL of a cuckoo filter",
            CfUnlink => "UNLINK of a cuckoo filter",
            CfSave => "SAVE of a cuckoo filter",
        }
    }

    /// True if untouched and filled filters are two cases of this row.
    pub fn depends_on_state(self) -> bool {
        let is_of_cuckoo_filters =
            matches!(self, CfReserve | CfCompact | CfCopy | CfDel | CfUnlink | CfSave);
        let is_of_one_state =
            matches!(self, Reserve | Grow | PlainCopy | Merge | PlainOr | Compact | PlainFold);
        !is_of_one_state && !is_of_cuckoo_filters
    }

    /// True if RedisBloom's layout has another code path for this row, and so a row of its own.
    pub fn differs_by_layout(self) -> bool {
        matches!(self, MAdd | MExists | Dump | Restore | Save | BgSaveChild)
    }
}

/// The result of a row.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Milliseconds of each run, at least one.
    Runs(Vec<f64>),
    /// The server returned an error or closed the connection: the reason.
    Refused(String),
}

impl Cell {
    /// The longest run.
    pub fn longest(&self) -> Option<f64> {
        match self {
            Cell::Runs(runs) => runs.iter().copied().max_by(f64::total_cmp),
            Cell::Refused(_) => None,
        }
    }

    /// All runs, in their order.
    pub fn runs(&self) -> &[f64] {
        match self {
            Cell::Runs(runs) => runs,
            Cell::Refused(_) => &[],
        }
    }
}

/// The cells of one filter by row and layout. A row that was not run has no cell.
pub type Cells = BTreeMap<(Row, Layout), Cell>;

/// Adds a run to a cell.
pub fn add_run(cells: &mut Cells, row: Row, layout: Layout, milliseconds: f64) {
    match cells.entry((row, layout)).or_insert_with(|| Cell::Runs(Vec::new())) {
        Cell::Runs(runs) => runs.push(milliseconds),
        Cell::Refused(_) => {}
    }
}

/// Every run, the median and the longest.
pub fn cells_json(cells: &Cells) -> Map<String, Value> {
    let cell = |cell: &Cell| match cell {
        Cell::Runs(runs) => json!({
            "max": cell.longest(),
            "median": crate::run::median(runs.iter().copied()),
            "runs": runs,
        }),
        Cell::Refused(why) => json!({ "refused": why }),
    };
    let name = |row: Row, layout| match layout {
        Layout::Bloomline => row.name().to_owned(),
        Layout::RedisBloom => format!("{}, redisbloom layout", row.name()),
    };
    cells.iter().map(|(&(row, layout), value)| (name(row, layout), cell(value))).collect()
}
