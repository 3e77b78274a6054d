//! A YAML document as a tree in which every key and value knows its place, and the error that
//! points at such a place. Owns reading and pointing; must not know what the keys mean.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::Scalar;
use super::suggestion::{did_you_mean, join_names};

/// YAML nested deeper than this is refused: no tilesmith file needs it, and recursion has a price.
const MAX_DEPTH: usize = 48;

/// A file that a person wrote: its name as messages give it, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub text: String,
}

/// Where something stands in a [`Source`]. Lines and columns count from 1, bytes from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub offset_bytes: usize,
    pub size_bytes: usize,
}

impl Place {
    /// The whole of line `line`, without its indentation.
    pub fn of_line(text: &str, line: usize) -> Place {
        let line = line.max(1);
        let mut offset_bytes = 0;
        for (n, content) in text.split_inclusive('\n').enumerate() {
            if n + 1 == line {
                let body = content.trim_end();
                let indent = body.len() - body.trim_start().len();
                return Place {
                    line,
                    column: indent + 1,
                    offset_bytes: offset_bytes + indent,
                    size_bytes: body.len() - indent,
                };
            }
            offset_bytes += content.len();
        }
        Place { line, column: 1, offset_bytes: text.len(), size_bytes: 0 }
    }
}

/// What is wrong with a person's file, and where: `variants.yaml:14:9: axis tile has no value 3x1x4 (allowed: ...)`.
#[derive(Debug, Clone)]
pub struct FileError {
    pub source: Arc<Source>,
    pub place: Place,
    pub message: String,
    pub help: Option<String>,
    named: Arc<NamedSource<String>>,
}

impl FileError {
    pub fn new(source: &Arc<Source>, place: Place, message: impl Into<String>) -> Self {
        let named = Arc::new(NamedSource::new(&source.name, source.text.clone()));
        Self { source: Arc::clone(source), place, message: message.into(), help: None, named }
    }

    pub fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.source.name, self.place.line, self.place.column, self.message)
    }
}

impl std::error::Error for FileError {}

impl Diagnostic for FileError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.named)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let offset = self.place.offset_bytes.min(self.source.text.len());
        let size = self.place.size_bytes.min(self.source.text.len() - offset);
        Some(Box::new(std::iter::once(LabeledSpan::new(Some("here".into()), offset, size))))
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    pub place: Place,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    Null,
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    pub place: Place,
}

impl Content {
    /// How a message calls it.
    pub fn describe(&self) -> String {
        match self {
            Content::Null => "nothing".into(),
            Content::Scalar(scalar) => format!("`{scalar}`"),
            Content::List(_) => "a list".into(),
            Content::Map(_) => "a mapping".into(),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => write!(f, "{value}"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Float(value) => write!(f, "{value}"),
            Scalar::Text(value) => f.write_str(value),
        }
    }
}

/// A document and its root; hands out errors that point into it.
#[derive(Debug, Clone)]
pub struct Document {
    pub source: Arc<Source>,
    pub root: Node,
}

impl Document {
    /// Reads `text`, which messages call `name`. Duplicate keys are refused.
    pub fn parse(name: &str, text: &str) -> Result<Document, Box<FileError>> {
        let source = Arc::new(Source { name: name.to_string(), text: text.to_string() });
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        };
        match serde_saphyr::from_str_with_options::<Node>(text, options) {
            Ok(root) => Ok(Document { source, root }),
            Err(error) => {
                let said = error.without_snippet();
                let place = error.location().map(place_of).map(|place| with_offset(place, text));
                let place = place.unwrap_or(Place { line: 1, column: 1, ..Place::default() });
                let (message, help) = match said {
                    serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                        let key = key.as_deref().unwrap_or("?");
                        (
                            format!("duplicate key `{key}`"),
                            Some("each key may stand once in a mapping; rename or remove one".to_string()),
                        )
                    }
                    other => {
                        let text = other.to_string();
                        let first = text.lines().next().unwrap_or("not YAML").trim_end_matches('.');
                        // The place stands before the message already.
                        let first = first.rsplit_once(" at line ").map_or(first, |(words, _)| words);
                        (format!("not valid YAML: {first}"), None)
                    }
                };
                Err(Box::new(FileError::new(&source, place, message).with_help(help)))
            }
        }
    }

    pub fn error(&self, place: Place, message: impl Into<String>) -> Box<FileError> {
        Box::new(FileError::new(&self.source, place, message))
    }

    /// An error about `given`, which is none of `allowed`.
    pub fn unknown(&self, place: Place, message: impl Into<String>, given: &str, allowed: &[&str]) -> Box<FileError> {
        let message = format!("{} (allowed: {})", message.into(), join_names(allowed));
        Box::new(FileError::new(&self.source, place, message).with_help(did_you_mean(given, allowed)))
    }

    /// The entries of a mapping whose keys are a person's own names.
    pub fn entries<'a>(&self, node: &'a Node, what: &str) -> Result<&'a [(Key, Node)], Box<FileError>> {
        match &node.content {
            Content::Map(entries) => Ok(entries),
            other => Err(self.error(node.place, format!("{what} must be a mapping, not {}", other.describe()))),
        }
    }

    /// The entries of a mapping with fixed keys; an unknown key is an error.
    pub fn fields<'a>(&'a self, node: &'a Node, what: &str, allowed: &[&str]) -> Result<Fields<'a>, Box<FileError>> {
        let entries = self.entries(node, what)?;
        for (key, _) in entries {
            if !allowed.contains(&key.name.as_str()) {
                return Err(self.unknown(
                    key.place,
                    format!("unknown key `{}` in {what}", key.name),
                    &key.name,
                    allowed,
                ));
            }
        }
        Ok(Fields { document: self, what: what.to_string(), place: node.place, entries })
    }

    pub fn list<'a>(&self, node: &'a Node, what: &str) -> Result<&'a [Node], Box<FileError>> {
        match &node.content {
            Content::List(items) => Ok(items),
            other => Err(self.error(node.place, format!("{what} must be a list, not {}", other.describe()))),
        }
    }

    pub fn scalar<'a>(&self, node: &'a Node, what: &str) -> Result<&'a Scalar, Box<FileError>> {
        match &node.content {
            Content::Scalar(scalar) => Ok(scalar),
            other => Err(self.error(node.place, format!("{what} must be a single value, not {}", other.describe()))),
        }
    }

    /// Any scalar, as text: `per: 4` and `per: px` are both texts.
    pub fn text(&self, node: &Node, what: &str) -> Result<String, Box<FileError>> {
        Ok(self.scalar(node, what)?.to_string())
    }

    /// An integer from `low` to the largest u32.
    pub fn integer(&self, node: &Node, what: &str, low: u32) -> Result<u32, Box<FileError>> {
        match self.scalar(node, what)? {
            Scalar::Int(value) if *value >= i64::from(low) && *value <= i64::from(u32::MAX) => Ok(*value as u32),
            other => Err(self.error(node.place, format!("{what} must be an integer of at least {low}, not `{other}`"))),
        }
    }

    /// One of a few words, mapped to what it stands for.
    pub fn choice<T: Copy>(&self, node: &Node, what: &str, choices: &[(&str, T)]) -> Result<T, Box<FileError>> {
        let given = self.text(node, what)?;
        choices.iter().find(|(name, _)| *name == given).map(|(_, value)| *value).ok_or_else(|| {
            let allowed: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.unknown(node.place, format!("{what} `{given}` is unknown"), &given, &allowed)
        })
    }
}

/// A mapping whose keys were checked.
pub struct Fields<'a> {
    document: &'a Document,
    what: String,
    place: Place,
    entries: &'a [(Key, Node)],
}

impl<'a> Fields<'a> {
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(k, _)| k.name == key).map(|(_, node)| node)
    }

    pub fn require(&self, key: &str) -> Result<&'a Node, Box<FileError>> {
        self.get(key).ok_or_else(|| self.document.error(self.place, format!("{} lacks the key `{key}`", self.what)))
    }
}

/// A path as messages give it: without a leading `./`.
pub fn display_name(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// The byte at a line and a column: the scanner's own errors come without.
fn with_offset(place: Place, text: &str) -> Place {
    if place.offset_bytes > 0 || place.line == 0 {
        return place;
    }
    let start: usize = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let content = text[start..].lines().next().unwrap_or("");
    let at = content.char_indices().nth(place.column.saturating_sub(1));
    let (offset, size_bytes) = at.map_or((content.len(), 0), |(offset, c)| (offset, c.len_utf8()));
    Place { offset_bytes: start + offset, size_bytes, ..place }
}

fn place_of(location: serde_saphyr::Location) -> Place {
    let span = location.span();
    Place {
        line: location.line() as usize,
        column: location.column() as usize,
        offset_bytes: span.byte_offset().unwrap_or(0) as usize,
        size_bytes: span.byte_len().unwrap_or(0) as usize,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Node { place: place_of(spanned.referenced), content: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a YAML value")
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::Null)
            }

            fn visit_none<E>(self) -> Result<Content, E> {
                Ok(Content::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
                Ok(Content::Scalar(Scalar::Bool(value)))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
                Ok(Content::Scalar(Scalar::Int(value)))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
                Ok(Content::Scalar(i64::try_from(value).map_or(Scalar::Float(value as f64), Scalar::Int)))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
                Ok(Content::Scalar(Scalar::Float(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Content, E> {
                Ok(Content::Scalar(Scalar::Text(value.to_string())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Content::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    entries.push((Key { place: place_of(key.referenced), name: key.value }, map.next_value()?));
                }
                Ok(Content::Map(entries))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_place() {
        let document = Document::parse("x.yaml", "a: 1\nb:\n  4: {c: [x, 1x1x4]}\n").unwrap();
        let Content::Map(entries) = &document.root.content else { panic!("not a map") };
        assert_eq!((entries[1].0.place.line, entries[1].0.place.column), (2, 1));
        let Content::Map(inner) = &entries[1].1.content else { panic!("not a map") };
        assert_eq!(inner[0].0.name, "4");
        assert_eq!((inner[0].0.place.line, inner[0].0.place.column), (3, 3));
        let Content::Map(innermost) = &inner[0].1.content else { panic!("not a map") };
        let Content::List(items) = &innermost[0].1.content else { panic!("not a list") };
        assert_eq!((items[1].place.line, items[1].place.column, items[1].place.size_bytes), (3, 14, 5));
    }

    #[test]
    fn duplicate_keys_are_refused_where_they_stand() {
        let error = Document::parse("x.yaml", "a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!(error.to_string(), "x.yaml:3:1: duplicate key `a`");
    }

    #[test]
    fn a_tab_is_pointed_at_where_it_stands() {
        let error = Document::parse("x.yaml", "a:\n\tb: 1\n").unwrap_err();
        assert_eq!((error.place.line, error.place.column, error.place.offset_bytes), (2, 2, 4), "{error}");
    }

    #[test]
    fn deep_nesting_ends_with_a_message() {
        let text = format!("a: {}1{}", "[".repeat(5000), "]".repeat(5000));
        assert!(Document::parse("x.yaml", &text).unwrap_err().to_string().contains("not valid YAML"));
    }
}
