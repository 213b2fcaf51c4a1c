//! Why there is no plan.

use bloomline_core::Error;

/// Why there is no plan, as the number that a page gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Refusal {
    /// The number of items is not whole, or not 1 to 10^18.
    Items = -1,
    /// The capacity is not whole, or out of range.
    Capacity = -2,
    /// The error rate is out of range.
    ErrorRate = -3,
    /// The expansion is not whole, or out of range.
    Expansion = -4,
    /// The seconds are not whole, or out of range.
    Window = -5,
    /// The number of generations is not whole, or out of range.
    Generations = -6,
    /// A layer would need a smaller rate than there can be: a larger capacity helps.
    ErrorRateTooSmall = -7,
    /// The filter would need more layers than there can be: a larger capacity helps.
    TooManyLayers = -8,
    /// The filter does not grow, and its capacity is less than the items.
    Full = -9,
    /// Another reason, which the core gives for no plan today.
    Other = -10,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Capacity(_) => Self::Capacity,
            Error::ErrorRate(_) => Self::ErrorRate,
            Error::Expansion(_) => Self::Expansion,
            Error::Window(_) => Self::Window,
            Error::Generations(_) | Error::TooFewItems { .. } => Self::Generations,
            Error::ErrorRateTooSmall(_) => Self::ErrorRateTooSmall,
            Error::TooManyLayers(_) | Error::TooManyOverflowLayers(_) => Self::TooManyLayers,
            Error::Full(_) => Self::Full,
            _ => Self::Other,
        }
    }
}
