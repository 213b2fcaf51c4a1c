//! Items packed in one string, as BF.BULKADD and BF.BULKEXISTS take them.

use bloomline_harness::{Client, bulk, int, show};
use redis::Value;

/// How items are packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Fixed,
    Prefixed,
    Lines,
}

/// All forms.
pub const FORMS: [Form; 3] = [Form::Fixed, Form::Prefixed, Form::Lines];

impl Form {
    /// The arguments after the key. The items of `FIXED` have one width.
    pub fn args<A: AsRef<[u8]>>(self, items: &[A]) -> Vec<Vec<u8>> {
        let width = items.first().map_or(1, |item| item.as_ref().len());
        let mut data = Vec::new();
        for item in items.iter().map(AsRef::as_ref) {
            match self {
                Self::Fixed => assert_eq!(item.len(), width, "an item of another width"),
                Self::Prefixed => data.extend(u32::try_from(item.len()).unwrap().to_le_bytes()),
                Self::Lines => {}
            }
            data.extend(item);
            if self == Self::Lines {
                data.push(b'\n');
            }
        }
        match self {
            Self::Fixed => vec![b"FIXED".to_vec(), width.to_string().into_bytes(), data],
            Self::Prefixed => vec![b"PREFIXED".to_vec(), data],
            Self::Lines => vec![b"LINES".to_vec(), data],
        }
    }
}

/// Sends packed items, and returns the reply.
pub fn send<A: AsRef<[u8]>>(
    client: &mut Client,
    command: &str,
    key: &str,
    form: Form,
    items: &[A],
    tail: &[&str],
) -> Value {
    let mut args = vec![command.as_bytes().to_vec(), key.as_bytes().to_vec()];
    args.extend(form.args(items));
    args.extend(tail.iter().map(|word| word.as_bytes().to_vec()));
    client.run(&args)
}

/// The answers in a reply with a bitmap, and the error that ended the call.
pub fn answers(reply: &Value) -> (Vec<bool>, Option<String>) {
    let (Value::Array(parts), shown) = (reply, show(reply)) else { panic!("{}", show(reply)) };
    let (processed, bitmap) = (int(&parts[0]) as usize, bulk(&parts[1]));
    assert_eq!(bitmap.len(), processed.div_ceil(8), "{processed} items");
    let bit = |at: usize| bitmap[at / 8] >> (7 - at % 8) & 1 == 1;
    assert!((processed..bitmap.len() * 8).all(|at| !bit(at)), "bits after the last item");
    let error = parts.get(2).map(show);
    assert!(parts.len() <= 3 && error.as_ref().is_none_or(|text| text.starts_with('-')), "{shown}");
    ((0..processed).map(bit).collect(), error)
}

/// Adds packed items, all of which are accepted, and returns the answers.
pub fn add<A: AsRef<[u8]>>(client: &mut Client, key: &str, form: Form, items: &[A]) -> Vec<bool> {
    let (answers, error) = answers(&send(client, "BF.BULKADD", key, form, items, &[]));
    assert_eq!((answers.len(), error), (items.len(), None));
    answers
}
