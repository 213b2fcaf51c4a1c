//! The arguments of a command line.

/// Splits a line into arguments as redis-cli does: at blanks, except inside `"…"`, where `\xHH`,
/// `\r`, `\n`, `\"` and `\\` are escapes.
pub fn arguments(line: &str) -> Vec<Vec<u8>> {
    let mut arguments = Vec::new();
    let mut rest = line.as_bytes().iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut argument = Vec::new();
        match first {
            b' ' => continue,
            b'"' => loop {
                match rest.next().expect("a closing quote") {
                    b'"' => break,
                    b'\\' => {
                        argument.push(match rest.next().expect("a character after the backslash") {
                            b'x' => {
                                let digits = [
                                    rest.next().expect("two digits"),
                                    rest.next().expect("two digits"),
                                ];
                                let digits = str::from_utf8(&digits).expect("hexadecimal digits");
                                u8::from_str_radix(digits, 16).expect("hexadecimal digits")
                            }
                            b'r' => b'\r',
                            b'n' => b'\n',
                            other => other,
                        })
                    }
                    byte => argument.push(byte),
                }
            },
            byte => {
                argument.push(byte);
                while let Some(byte) = rest.next_if(|byte| *byte != b' ') {
                    argument.push(byte);
                }
            }
        }
        arguments.push(argument);
    }
    arguments
}
