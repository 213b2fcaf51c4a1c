//! A source file as tokens, and the paths it names.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One file under `src`.
pub struct Source {
    /// Where it is, from `src` on, with slashes.
    pub path: String,
    pub lines: usize,
    tokens: Vec<Token>,
}

/// A token; groups are laid out flat between their brackets.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Ident(String),
    /// `::`
    Colons,
    Open(Delimiter),
    Close(Delimiter),
    Other(char),
}

/// All files under `src`.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut sources) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                sources
                    .push(Source::new(path.strip_prefix(&root).unwrap().to_str().unwrap(), &text));
            }
        }
    }
    sources
}

/// The crates that sources can name: dependencies of the manifest, as identifiers, and those of the
/// language.
pub fn crates() -> Vec<String> {
    let manifest = include_str!("../../Cargo.toml");
    let mut in_dependencies = false;
    let mut crates: Vec<String> =
        ["std", "core", "alloc", "proc_macro", "test"].map(String::from).to_vec();
    for line in manifest.lines() {
        match line.strip_prefix('[') {
            Some(section) => {
                in_dependencies = section.trim_end_matches(']').ends_with("dependencies")
            }
            None if in_dependencies && !line.starts_with('#') => {
                crates.extend(line.split_once('=').map(|(name, _)| name.trim().replace('-', "_")));
            }
            None => {}
        }
    }
    crates
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let stream: TokenStream =
            text.parse().unwrap_or_else(|error| panic!("src/{path}: {error}"));
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        Self { path: path.replace('\\', "/"), lines: text.lines().count(), tokens }
    }

    /// The top module the file belongs to; of a file right under `src`, its name.
    pub fn layer(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// The modules down to this file, from the crate on.
    fn module(&self) -> Vec<String> {
        let parts = self
            .path
            .trim_end_matches(".rs")
            .split('/')
            .filter(|part| !["mod", "lib"].contains(part));
        std::iter::once("crate").chain(parts).map(String::from).collect()
    }

    /// Names of the modules that the file is, or declares.
    pub fn module_names(&self) -> impl Iterator<Item = String> {
        let declared = self.tokens.windows(2).filter_map(|pair| match pair {
            [Token::Ident(keyword), Token::Ident(name)] if keyword == "mod" => Some(name.clone()),
            _ => None,
        });
        self.module().into_iter().chain(declared)
    }

    pub fn idents(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().filter_map(Token::ident)
    }

    /// Every path that is imported or named, from the crate's root where it begins with `crate`,
    /// `self` or `super`.
    pub fn paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        let mut rest = &self.tokens[..];
        let mut before: Option<&Token> = None;
        while let Some(token) = rest.first() {
            let after = &rest[1..];
            let starts_use =
                token.ident().is_some_and(|keyword| ["use", "crate"].contains(&keyword));
            if starts_use
                && (token.ident() == Some("use") || before.and_then(Token::ident) == Some("extern"))
            {
                rest = use_tree(after, &[], &mut paths);
            } else if token.ident().is_some()
                && after.first() == Some(&Token::Colons)
                && before != Some(&Token::Colons)
                || *token == Token::Colons && !before.is_some_and(Token::may_end_a_path)
            {
                rest = plain_path(rest, &mut paths);
            } else {
                rest = after;
            }
            before = self.tokens.get(self.tokens.len() - rest.len() - 1);
        }
        paths.into_iter().map(|path| self.absolute(path)).filter(|path| !path.is_empty()).collect()
    }

    fn absolute(&self, path: Vec<String>) -> Vec<String> {
        let mut root = self.module();
        if !path.first().is_some_and(|step| ["self", "super"].contains(&step.as_str())) {
            return path;
        }
        let mut steps = path.iter().skip_while(|step| *step == "self").peekable();
        while steps.next_if(|step| *step == "super").is_some() {
            root.pop();
        }
        root.extend(steps.cloned());
        root
    }
}

impl Token {
    fn ident(&self) -> Option<&str> {
        match self {
            Self::Ident(ident) => Some(ident),
            _ => None,
        }
    }

    /// Whether a `::` behind it goes on with a path: `Vec<u8>::new`, `name::x`.
    fn may_end_a_path(&self) -> bool {
        match self {
            Self::Ident(ident) => !["use", "as", "in", "return", "mut", "dyn", "impl", "else"]
                .contains(&ident.as_str()),
            Self::Other(char) => *char == '>',
            Self::Close(_) => true,
            Self::Colons | Self::Open(_) => false,
        }
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut stream = stream.into_iter().peekable();
    while let Some(tree) = stream.next() {
        match tree {
            TokenTree::Group(group) => {
                tokens.push(Token::Open(group.delimiter()));
                flatten(group.stream(), tokens);
                tokens.push(Token::Close(group.delimiter()));
            }
            TokenTree::Ident(ident) => tokens.push(Token::Ident(ident.to_string())),
            TokenTree::Punct(punct) => {
                let colon = |tree: &TokenTree| matches!(tree, TokenTree::Punct(next) if next.as_char() == ':');
                let joined = punct.spacing() == proc_macro2::Spacing::Joint;
                if punct.as_char() == ':' && joined && stream.next_if(colon).is_some() {
                    tokens.push(Token::Colons);
                } else if joined && ['-', '='].contains(&punct.as_char()) {
                    // An arrow does not end a path as `Vec<u8>` does.
                    let next = stream.next_if(
                        |tree| matches!(tree, TokenTree::Punct(next) if next.as_char() == '>'),
                    );
                    tokens.push(Token::Other(if next.is_some() { '→' } else { punct.as_char() }));
                } else {
                    tokens.push(Token::Other(punct.as_char()));
                }
            }
            TokenTree::Literal(_) => tokens.push(Token::Other('"')),
        }
    }
}

/// Reads `a::b`, `::a::b`, with or without more behind it.
fn plain_path<'a>(mut tokens: &'a [Token], paths: &mut Vec<Vec<String>>) -> &'a [Token] {
    let mut path = Vec::new();
    loop {
        match tokens {
            [Token::Ident(step), rest @ ..] => {
                path.push(step.clone());
                tokens = rest;
                if tokens.first() != Some(&Token::Colons) {
                    break;
                }
            }
            [Token::Colons, rest @ ..] => tokens = rest,
            _ => break,
        }
    }
    paths.push(path);
    tokens
}

/// Reads what stands behind `use`, and every branch of it as a path.
fn use_tree<'a>(
    mut tokens: &'a [Token],
    stem: &[String],
    paths: &mut Vec<Vec<String>>,
) -> &'a [Token] {
    let mut path = stem.to_vec();
    loop {
        match tokens {
            [Token::Colons, rest @ ..] => tokens = rest,
            // The new name says nothing of where it comes from.
            [Token::Ident(renamed), Token::Ident(_), rest @ ..] if renamed == "as" => tokens = rest,
            [Token::Ident(step), rest @ ..] => {
                path.push(step.clone());
                tokens = rest;
            }
            [Token::Other('*'), rest @ ..] => {
                path.push("*".into());
                tokens = rest;
            }
            [Token::Open(Delimiter::Brace), rest @ ..] => {
                tokens = rest;
                while !matches!(tokens, [] | [Token::Close(_), ..]) {
                    tokens = use_tree(tokens, &path, paths);
                    // A comma, or a `$` in a macro.
                    if let [Token::Other(_), rest @ ..] = tokens {
                        tokens = rest;
                    }
                }
                return tokens.get(1..).unwrap_or_default();
            }
            _ => break,
        }
    }
    paths.push(path);
    tokens
}
