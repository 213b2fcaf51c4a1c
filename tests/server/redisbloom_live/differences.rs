//! The documented differences between RedisBloom and Bloomline with `bf-layout redisbloom`: one
//! table. docs/reference/compatibility.md describes them; rows that begin with a release are about
//! RedisBloom before 8, whose successor decides what is right.

use std::str;

use crate::calls::words::Words;

/// A call to which the two servers replied differently, or after which their filters differ. Then
/// the replies are those of BF.DEBUG.
pub struct Call<'c> {
    pub words: &'c Words,
    /// True if the case has loaded a header or a chunk of a cuckoo filter, so that counts may
    /// differ from what the tables hold.
    pub is_forged: bool,
    pub theirs: &'c [u8],
    pub ours: &'c [u8],
}

/// One difference.
pub struct Difference {
    /// What differs.
    pub what: &'static str,
    /// True if this is the reason for what is seen.
    pub explains: fn(&Call) -> bool,
}

/// The largest capacity in RedisBloom's layout.
const MOST: f64 = (1 << 30) as f64;
const RESERVE: &[&str] = &["BF.RESERVE"];
const INSERT: &[&str] = &["BF.INSERT"];
const CREATING: &[&str] = &["BF.RESERVE", "BF.INSERT"];

const CUCKOO_CREATING: &[&str] = &["CF.RESERVE", "CF.INSERT", "CF.INSERTNX"];

/// All of them. The first that explains a difference counts.
pub const DIFFERENCES: [Difference; 22] = [
    Difference {
        what: "integers with a plus or leading zeros, which valkey-bloom's clients may send",
        explains: |call| {
            let is_other_form = |word: &Vec<u8>| {
                let text = str::from_utf8(word).unwrap_or_default();
                text.parse().is_ok_and(|number: i64| number.to_string() != text)
            };
            (call.is(CREATING) || call.is(CUCKOO_CREATING))
                && call.words.iter().any(is_other_form)
                && call.theirs("-")
        },
    },
    Difference {
        what: "Redis: hexadecimal rates, which RedisBloom reads by the server",
        explains: |call| {
            let is_hexadecimal = |word: &Vec<u8>| word.to_ascii_lowercase().starts_with(b"0x");
            call.is(CREATING)
                && call.words.iter().any(is_hexadecimal)
                && (call.ours("-ERR bad error rate\r\n") || call.ours("-Bad error rate\r\n"))
        },
    },
    Difference {
        what: "2.8: other texts of BF.RESERVE for numbers out of range",
        explains: |call| {
            const TEXTS: [(&str, &str); 3] = [
                ("-ERR (0 < error rate range < 1) \r\n", "-ERR error rate must be in the range"),
                (
                    "-ERR (capacity should be larger than 0)\r\n",
                    "-ERR capacity must be in the range",
                ),
                (
                    "-ERR expansion should be greater or equal to 1\r\n",
                    "-ERR expansion must be in the range",
                ),
            ];
            call.is(RESERVE)
                && TEXTS.iter().any(|(theirs, ours)| call.theirs(theirs) && call.ours(ours))
        },
    },
    Difference {
        what: "2.8: BF.INSERT checks ranges after it has read all options, of which the last wins",
        explains: |call| {
            let is_rate = |rate: f64| 0.0 < rate && rate < 1.0;
            call.is(INSERT)
                && call.ours("-Bad ")
                && (call.theirs("-Bad argument received\r\n")
                    || call.has_option("ERROR", |rate| !is_rate(rate))
                    || call.has_option("CAPACITY", |capacity| capacity < 1.0)
                    || call.has_option("EXPANSION", |expansion| expansion < 0.0))
        },
    },
    Difference {
        what: "2.8: EXPANSION 0 is refused, in BF.INSERT if no other EXPANSION follows",
        explains: |call| {
            const REFUSALS: [&str; 3] = [
                "-ERR expansion should be greater or equal to 1\r\n",
                "-Nonscaling filters cannot expand\r\n",
                "-Bad argument received\r\n",
            ];
            call.is(CREATING)
                && call.has_option("EXPANSION", |value| value == 0.0)
                && (REFUSALS.iter().any(|refusal| call.theirs(refusal))
                    || call.is(INSERT) && call.has_option("EXPANSION", |value| value != 0.0))
        },
    },
    Difference {
        what: "2.8: NONSCALING with EXPANSION is refused before the value is read",
        explains: |call| {
            call.is(RESERVE)
                && call.theirs("-Nonscaling filters cannot expand\r\n")
                && call.ours("-ERR bad expansion\r\n")
        },
    },
    Difference {
        what: "2.8: capacities above 2^30 and expansions above 32768 are accepted",
        explains: |call| {
            call.is(CREATING)
                && ["-ERR capacity must", "-ERR expansion must", "-Bad capacity", "-Bad expansion"]
                    .iter()
                    .any(|refusal| call.ours(refusal))
                && (call.is(RESERVE) && call.number(3).is_some_and(|capacity| capacity > MOST)
                    || call.has_option("CAPACITY", |capacity| capacity > MOST)
                    || call.has_option("EXPANSION", |expansion| expansion > 32768.0))
        },
    },
    Difference {
        what: "2.8: error rates above 0.25 are kept",
        explains: |call| {
            let is_large = |rate: f64| 0.25 < rate && rate < 1.0;
            call.is(CREATING)
                && (call.has_option("ERROR", is_large)
                    || call.is(RESERVE) && call.number(2).is_some_and(is_large))
                && call.theirs("*")
                && call.ours("*")
        },
    },
    Difference {
        what: "2.8: growth that fails leaves a link without bits, so that every item is present",
        explains: |call| {
            const LINK: &[u8] =
                b"bytes:0 bits:1 hashes:0 hashwidth:64 capacity:0 size:0 ratio:0\r\n";
            let [theirs, ours] = [call.theirs, call.ours].map(String::from_utf8_lossy);
            call.theirs.ends_with(LINK)
                || theirs.lines().count() == ours.lines().count()
                    && theirs.lines().zip(ours.lines()).all(|(theirs, ours)| {
                        theirs == ours
                            || [":0", "#f"].contains(&theirs)
                                && ours == "-ERR problem inserting into filter"
                    })
        },
    },
    Difference {
        what: "unknown option: ignored by BF.RESERVE and CF.RESERVE",
        explains: |call| {
            const NAMES: [&str; 4] = ["EXPANSION", "NONSCALING", "BUCKETSIZE", "MAXITERATIONS"];
            call.is(&["BF.RESERVE", "CF.RESERVE"]) && call.has_unknown_option(&NAMES)
        },
    },
    Difference {
        what: "unknown option: BF.INSERT reads its first letters, or does not name it",
        explains: |call| {
            const NAMES: [&str; 6] =
                ["EXPANSION", "NONSCALING", "CAPACITY", "ERROR", "NOCREATE", "ITEMS"];
            call.is(INSERT) && call.has_unknown_option(&NAMES)
        },
    },
    Difference {
        what: "BF.RESERVE, a last option without its value",
        explains: |call| {
            call.is(RESERVE)
                && call.ours("-ERR no expansion\r\n")
                && call.words.last().is_some_and(|last| last.eq_ignore_ascii_case(b"EXPANSION"))
        },
    },
    Difference {
        what: "COPY",
        explains: |call| {
            call.is(&["COPY"]) && call.theirs("-ERR not supported for this module key\r\n")
        },
    },
    Difference { what: "MEMORY USAGE", explains: |call| call.is(&["MEMORY"]) },
    Difference {
        what: "2.8: other texts of CF.RESERVE for options out of range",
        explains: |call| {
            const RANGES: [(&str, u16, u16); 3] =
                [("MAXITERATIONS", 1, 65_535), ("BUCKETSIZE", 1, 255), ("EXPANSION", 0, 32_768)];
            call.is(&["CF.RESERVE"])
                && RANGES.iter().any(|(name, least, most)| {
                    let theirs =
                        format!("value must be an integer between {least} and {most}, inclusive.");
                    let ours = format!("value must be in the range [{least}, {most}]");
                    call.theirs(&format!("-{name}: {theirs}\r\n"))
                        && call.ours(&format!("-{name}: {ours}\r\n"))
                })
        },
    },
    Difference {
        what: "2.8: other texts of CF.RESERVE and CF.INSERT for capacities that are too small",
        explains: |call| {
            call.is(CUCKOO_CREATING)
                && call.theirs("-Capacity must be at least (BucketSize * 2)\r\n")
                && call.ours("-Capacity must be in the range [")
        },
    },
    Difference {
        what: "2.8: capacities of cuckoo filters above 2^30 are accepted",
        explains: |call| {
            let is_large = |at| call.number(at).is_some_and(|capacity| capacity > MOST);
            call.is(CUCKOO_CREATING)
                && call.ours("-Capacity must be in the range [")
                && (2..call.words.len()).any(is_large)
        },
    },
    Difference {
        what: "CF.SCANDUMP of a filter without items: nothing is dumped",
        explains: |call| {
            call.is(&["CF.SCANDUMP"])
                && ["*2\r\n:0\r\n$-1\r\n", "*2\r\n:0\r\n_\r\n"].iter().any(|end| call.theirs(end))
                && call.ours("*2\r\n:")
        },
    },
    Difference {
        what: "CF.LOADCHUNK of a header that no command makes: accepted",
        explains: |call| {
            let header = call.words.get(3).and_then(|bytes| Header::read(bytes));
            call.is(&["CF.LOADCHUNK"])
                && call.theirs("+OK\r\n")
                && call.ours("-Couldn't create filter!\r\n")
                && header.is_some_and(|header| header.is_forged())
        },
    },
    Difference {
        what: "a cuckoo filter of forged chunks: more items than entries, or less than none",
        explains: |call| {
            let [theirs, ours] = [call.theirs, call.ours].map(Header::of_debug);
            let (Some(theirs), Some(ours)) = (theirs, ours) else { return false };
            // The count may have met the limit before the same call added tables.
            let first = Header { tables: 1, ..theirs };
            let is_over = u128::from(theirs.items) > first.entries() && theirs.items != ours.items;
            call.is_forged && (is_over || ours.deletes == u64::MAX)
        },
    },
    Difference {
        what: "CF.INFO: counts of 2^63 and more are negative",
        explains: |call| {
            let lines = |reply: &[u8]| -> Vec<String> {
                String::from_utf8_lossy(reply).lines().map(str::to_owned).collect()
            };
            let (theirs, ours) = (lines(call.theirs), lines(call.ours));
            call.is(&["CF.INFO"])
                && theirs.len() == ours.len()
                && theirs.iter().zip(&ours).all(|(theirs, ours)| {
                    theirs == ours || theirs.starts_with(":-") && *ours == format!(":{}", i64::MAX)
                })
        },
    },
    Difference {
        what: "CF.LOADCHUNK past the last table: written into it",
        explains: |call| {
            call.is(&["CF.LOADCHUNK"])
                && call.theirs("+OK\r\n")
                && call.ours("-Couldn't load chunk!\r\n")
        },
    },
];

impl Call<'_> {
    fn is(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.words[0].eq_ignore_ascii_case(name.as_bytes()))
    }

    fn theirs(&self, start: &str) -> bool {
        self.theirs.starts_with(start.as_bytes())
    }

    fn ours(&self, start: &str) -> bool {
        self.ours.starts_with(start.as_bytes())
    }

    /// The argument as a number, which the server also reads if it is hexadecimal.
    fn number(&self, at: usize) -> Option<f64> {
        let text = str::from_utf8(self.words.get(at)?).ok()?;
        match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok().map(f64::from),
            None => text.parse().ok(),
        }
    }

    /// True if we refuse an option that is none of these.
    fn has_unknown_option(&self, names: &[&str]) -> bool {
        let refused = self.ours.strip_prefix(b"-Unknown argument received: '");
        let word = refused.and_then(|word| word.strip_suffix(b"'\r\n"));
        word.is_some_and(|word| {
            !names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// True if the call has this option, with such a number as its value.
    fn has_option(&self, name: &str, is_such: impl Fn(f64) -> bool) -> bool {
        let mut words = self.words.iter().enumerate();
        words.any(|(at, word)| {
            word.eq_ignore_ascii_case(name.as_bytes()) && self.number(at + 1).is_some_and(&is_such)
        })
    }
}

/// The numbers of a cuckoo filter.
#[derive(Clone, Copy)]
struct Header {
    items: u64,
    buckets: u64,
    deletes: u64,
    tables: u64,
    bucket_size: u64,
    expansion: u64,
}

impl Header {
    /// Reads the header of a chunk.
    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize, length: usize| {
            let bytes = bytes.get(at..at + length)?;
            Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        };
        Some(Self {
            items: number(0, 8)?,
            buckets: number(8, 8)?,
            deletes: number(16, 8)?,
            tables: number(24, 8)?,
            bucket_size: number(32, 2)?,
            expansion: number(36, 2)?,
        })
    }

    /// Reads a reply to CF.DEBUG.
    fn of_debug(reply: &[u8]) -> Option<Self> {
        let text = str::from_utf8(reply).ok()?;
        let number = |name: &str| {
            let mut fields = text.split_whitespace();
            let value = fields.find_map(|field| field.strip_prefix(name)?.strip_prefix(':'));
            value?.parse().ok()
        };
        Some(Self {
            items: number("items")?,
            buckets: number("buckets")?,
            deletes: number("deletes")?,
            tables: number("filters")?,
            bucket_size: number("bktsize")?,
            expansion: number("expansion")?,
        })
    }

    /// The entries of all tables, at most 2^127.
    fn entries(&self) -> u128 {
        let (mut buckets, mut entries) = (u128::from(self.buckets), 0u128);
        for _ in 0..self.tables.min(1 << 16) {
            entries = entries.saturating_add(buckets.saturating_mul(self.bucket_size.into()));
            buckets = buckets.saturating_mul(self.expansion.into());
        }
        entries
    }

    /// True if Bloomline refuses the numbers, which no command of RedisBloom makes.
    fn is_forged(&self) -> bool {
        self.tables > 65_535
            || self.expansion > 32_768
            || self.expansion == 0 && self.tables > 1
            || self.expansion > 0 && !self.expansion.is_power_of_two()
            || u128::from(self.items) > self.entries()
    }
}
