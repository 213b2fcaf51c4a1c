//! The filter that a call creates: the defaults, and what each option sets.

use super::valkey::{self, ValkeyOptions};
use super::window::WindowOptions;
use crate::command::error::{CANNOT_EXPAND, Failure};
use crate::command::option::{CreateCommand, Value, error_rate, layout, seed};
use crate::policy::layout::LayoutRow;
use crate::policy::setting::{ERROR_RATE, EXPANSION_FACTOR, INITIAL_SIZE, LAYOUT};
use crate::policy::source::Source;
use crate::server::args::{Arg, Args};
use bloomline_core::Layout;
use bloomline_core::host::{Growth, Spec};

/// The filter that a call creates.
#[derive(Clone, Copy)]
pub struct FilterOptions {
    /// Capacity, target rate, growth.
    pub spec: Spec,
    /// The expansion that RedisBloom's layout stores even if the filter does not grow.
    pub stored_expansion: u32,
    pub layout: Layout,
    /// When the filter forgets and the key expires.
    pub window: WindowOptions,
    /// Milliseconds after which the key expires.
    pub ttl: Option<u64>,
    /// The seed of the hash, if the call chooses it.
    pub seed: Option<u64>,
    pub valkey: ValkeyOptions,
}

/// How the arguments of a call are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Those of a client: option names are matched as a whole, and unknown ones are an error.
    Bloomline,
    /// Those that RedisBloom replicated or wrote to a file: as RedisBloom reads them. The filter
    /// gets RedisBloom's layout.
    RedisBloom,
    /// Those of a BF.INSERT that valkey-bloom replicated or wrote to a file: option names are
    /// compared as valkey-bloom does, which takes `ıtems` for ITEMS. The filter gets valkey-bloom's
    /// layout.
    ValkeyBloom,
}

impl Dialect {
    /// The dialect of a sender. Bloomline replicates no call that creates a filter, so such a call
    /// of a primary or of a file is RedisBloom's.
    pub fn of(source: &Source) -> Self {
        if source.is_replicated_or_loaded() { Self::RedisBloom } else { Self::Bloomline }
    }

    /// The dialect of a BF.INSERT, which may also be valkey-bloom's.
    pub fn of_insert(source: &Source, args: Args) -> Self {
        match Self::of(source) {
            Self::RedisBloom if valkey::is_only_reader_of(args) => Self::ValkeyBloom,
            dialect => dialect,
        }
    }
}

impl FilterOptions {
    /// The options of a call that gives none: those of the settings.
    pub fn default_for(dialect: Dialect) -> Self {
        let expansion = EXPANSION_FACTOR.integer() as u32;
        let spec = Spec {
            capacity: INITIAL_SIZE.integer(),
            error_rate: ERROR_RATE.number(),
            growth: Growth::of(expansion),
        };
        let layout = match dialect {
            Dialect::Bloomline => LAYOUT.layout(),
            Dialect::RedisBloom => Layout::RedisBloom,
            Dialect::ValkeyBloom => Layout::ValkeyBloom,
        };
        let window = WindowOptions::default();
        let valkey = ValkeyOptions::default();
        Self { spec, stored_expansion: expansion, layout, window, ttl: None, seed: None, valkey }
    }

    fn is_fixed(&self) -> bool {
        self.spec.growth == Growth::Fixed
    }

    /// Checks the options together. `has_growth` is true if NONSCALING or EXPANSION is given.
    fn check(&self, has_growth: bool) -> Result<(), Failure> {
        if self.seed.is_some() && self.layout != Layout::Bloomline {
            return Err(c"ERR SEED needs LAYOUT BLOOMLINE".into());
        }
        if self.valkey.are_given() && self.layout != Layout::ValkeyBloom {
            return Err(c"ERR TIGHTENING and VALIDATESCALETO need LAYOUT VALKEY-BLOOM".into());
        }
        self.window.check(self.spec.capacity, self.layout, has_growth)
    }

    /// Checks VALIDATESCALETO, also if the filter exists. What is replicated or loaded has passed
    /// the check at its origin.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn check_reach(&self, source: &Source) -> Result<(), Failure> {
        match self.valkey.scale_to {
            Some(items) if !source.is_replicated_or_loaded() => {
                valkey::check_reach(self.spec, self.valkey, items)
            }
            _ => Ok(()),
        }
    }

    fn capacity(&self, given: i64, dialect: Dialect) -> Option<u64> {
        let max = match dialect {
            Dialect::Bloomline | Dialect::ValkeyBloom => LayoutRow::of(self.layout).max_capacity,
            // RedisBloom before 8 had no such limit; the memory is the limit.
            Dialect::RedisBloom => u64::MAX,
        };
        u64::try_from(given).ok().filter(|n| (1..=max).contains(n))
    }
}

/// What the options of a call have set so far. The last of repeated options counts, except of
/// LAYOUT, of which the first counts.
pub struct Parser {
    pub options: FilterOptions,
    /// The command, because the error replies of RedisBloom's differ.
    command: CreateCommand,
    dialect: Dialect,
    is_fixed: bool,
    /// True if NONSCALING is given.
    is_non_scaling: bool,
    /// True if NONSCALING or EXPANSION is given.
    has_growth: bool,
    may_create: bool,
    /// The value of EXPANSION in BF.RESERVE, which is checked after all options.
    given_expansion: Option<i64>,
}

impl Parser {
    /// No option is set: the settings decide.
    pub fn new(command: CreateCommand, dialect: Dialect) -> Self {
        let options = FilterOptions::default_for(dialect);
        Self {
            options,
            command,
            dialect,
            is_fixed: options.is_fixed(),
            is_non_scaling: false,
            has_growth: false,
            may_create: true,
            given_expansion: None,
        }
    }

    /// Sets the layout from the LAYOUT option before ITEMS: the range of the capacity depends on
    /// it. Without LAYOUT, an option that only valkey-bloom has decides.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn find_layout(&mut self, args: Args) -> Result<(), Failure> {
        let mut named = args.iter().take_while(|arg| !arg.is("ITEMS"));
        if named.any(|arg| arg.is("LAYOUT")) {
            self.options.layout = layout(named.next().ok_or(Failure::Arity)?)?.layout;
        } else if valkey::is_named_in(args) {
            self.options.layout = Layout::ValkeyBloom;
        }
        Ok(())
    }

    fn row(&self) -> &'static LayoutRow {
        LayoutRow::of(self.options.layout)
    }

    /// Sets rate and capacity of BF.RESERVE, which have no names.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn rate_and_capacity(&mut self, rate: Arg, capacity: Arg) -> Result<(), Failure> {
        self.options.spec.error_rate = error_rate(
            rate,
            self.row().max_error_rate,
            c"ERR bad error rate",
            c"ERR error rate must be in the range (0.000000, 1.000000)",
        )?;
        let capacity = capacity.integer().ok_or(c"ERR bad capacity")?;
        let capacity = self.options.capacity(capacity, self.dialect);
        self.options.spec.capacity = capacity.ok_or_else(|| {
            let most = LayoutRow::of(self.options.layout).max_capacity;
            Failure::Formatted(format!("ERR capacity must be in the range [1, {most}]"))
        })?;
        Ok(())
    }

    pub fn capacity(&mut self, value: Value) -> Result<(), Failure> {
        let given = value?.integer();
        let capacity = given.and_then(|given| self.options.capacity(given, self.dialect));
        self.options.spec.capacity = capacity.ok_or(c"Bad capacity")?;
        Ok(())
    }

    pub fn error(&mut self, value: Value) -> Result<(), Failure> {
        let most = self.row().max_error_rate;
        self.options.spec.error_rate =
            error_rate(value?, most, c"Bad error rate", c"Bad error rate")?;
        Ok(())
    }

    pub fn expansion(&mut self, value: Value) -> Result<(), Failure> {
        self.has_growth = true;
        if self.command == CreateCommand::Reserve {
            let value = value.map_err(|_| c"ERR no expansion")?;
            self.given_expansion = Some(value.integer().ok_or(c"ERR bad expansion")?);
        } else {
            let expansion = value?.integer().and_then(|given| self.expansion_of(given));
            self.options.stored_expansion = expansion.ok_or(c"Bad expansion")?;
            let is_fixed = self.options.stored_expansion == 0;
            // In valkey-bloom the last option counts, also against the setting.
            self.is_fixed = is_fixed || self.is_fixed && self.options.layout != Layout::ValkeyBloom;
        }
        Ok(())
    }

    pub fn no_create(&mut self, _: Value) -> Result<(), Failure> {
        self.may_create = false;
        Ok(())
    }

    pub fn non_scaling(&mut self, _: Value) -> Result<(), Failure> {
        (self.is_fixed, self.is_non_scaling, self.has_growth) = (true, true, true);
        Ok(())
    }

    /// LAYOUT. [`Parser::find_layout`] has set the first one; further ones are only checked.
    pub fn layout(&mut self, value: Value) -> Result<(), Failure> {
        layout(value?).map(drop)
    }

    pub fn seed(&mut self, value: Value) -> Result<(), Failure> {
        if self.options.layout == Layout::ValkeyBloom {
            return self.options.valkey.set_seed(value?);
        }
        self.options.seed = Some(seed(value?)?);
        Ok(())
    }

    fn expansion_of(&self, given: i64) -> Option<u32> {
        // RedisBloom before 8 had no limit.
        let is_allowed =
            |n: &u32| *n <= self.row().max_expansion || self.dialect == Dialect::RedisBloom;
        u32::try_from(given).ok().filter(is_allowed)
    }

    /// The filter of the call, and whether it may be created, after the options were checked
    /// together.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn finish(mut self) -> Result<(FilterOptions, bool), Failure> {
        // In valkey-bloom EXPANSION counts against the setting.
        if self.given_expansion.is_some() && self.options.layout == Layout::ValkeyBloom {
            self.is_fixed = self.is_non_scaling;
        }
        match self.given_expansion {
            Some(0) => (self.is_fixed, self.options.stored_expansion) = (true, 0),
            Some(_) if self.is_fixed => return Err(CANNOT_EXPAND.into()),
            Some(n) => {
                let expansion = self.expansion_of(n);
                self.options.stored_expansion = expansion.ok_or_else(|| {
                    let most = self.row().max_expansion;
                    Failure::Formatted(format!("ERR expansion must be in the range [0, {most}]"))
                })?;
            }
            None => {}
        }
        self.options.spec.growth =
            if self.is_fixed { Growth::Fixed } else { Growth::of(self.options.stored_expansion) };
        self.options.check(self.has_growth)?;
        Ok((self.options, self.may_create))
    }
}
