//! Templates: their sources, the rendering of a variant, and errors that name template, line and
//! variant. Knows minijinja; must not know a compiler.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

use super::declarations;
use crate::matrix::document::{FileError, Place, Source, display_name};
use crate::matrix::expression::template_value;
use crate::matrix::suggestion::{did_you_mean, join_names};
use crate::matrix::{Kernel, Variant};

pub const FOLDER: &str = "templates";

/// What a template has beside the axes.
pub const CONTEXT: [&str; 8] =
    ["kernel", "variant", "header", "bindings", "push_constants", "spec_constants", "dtype", "layout"];

/// Why the templates could not be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot read {path}: {source}")]
pub struct UnreadableTemplate {
    pub path: String,
    pub source: std::io::Error,
}

/// All files under `templates/`, by their path in it with `/` between folders.
pub struct Templates {
    sources: BTreeMap<String, Arc<Source>>,
    environment: Environment<'static>,
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.sources.keys()).finish()
    }
}

/// Standard delimiters; a block tag takes its whole line away.
pub fn syntax() -> SyntaxConfig {
    // Building with default delimiters cannot fail; the default is what it would give anyway.
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .unwrap_or_default()
}

impl Templates {
    /// Reads every file ending in `.jinja` under `project/templates`.
    pub fn load(project: &Path) -> Result<Templates, UnreadableTemplate> {
        let root = project.join(FOLDER);
        let mut sources = BTreeMap::new();
        let mut folders = vec![(root.clone(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let unreadable = |source| UnreadableTemplate { path: display_name(&folder), source };
            for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let path = entry.path();
                if path.is_dir() {
                    folders.push((path, format!("{name}/")));
                } else if name.ends_with(".jinja") {
                    let text = std::fs::read_to_string(&path)
                        .map_err(|source| UnreadableTemplate { path: display_name(&path), source })?;
                    sources.insert(name, Arc::new(Source { name: display_name(&path), text }));
                }
            }
        }
        Ok(Self::new(sources))
    }

    pub fn new(sources: BTreeMap<String, Arc<Source>>) -> Templates {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax());
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        // Ranges in errors cost nothing until there is an error.
        environment.set_debug(true);
        let loaded = sources.clone();
        environment.set_loader(move |name| Ok(loaded.get(name).map(|source| source.text.clone())));
        Templates { sources, environment }
    }

    pub fn source(&self, name: &str) -> Option<&Arc<Source>> {
        self.sources.get(name)
    }

    /// File and line that `line` of the GLSL rendered from `template` comes from: the only one, of the template and those
    /// that it names, which reads like it but for its expressions; none where several do, or none does.
    pub fn origin(&self, template: &str, line: &str) -> Option<String> {
        let mut reached = vec![template];
        let mut n_read = 0;
        while let Some(source) = reached.get(n_read).map(|name| self.sources.get(*name)) {
            n_read += 1;
            let text = source.map_or("", |source| &source.text);
            let quoted = |name: &str| [format!("\"{name}\""), format!("'{name}'")];
            let more: Vec<&str> = self
                .names()
                .filter(|name| {
                    !reached.contains(name) && quoted(name).iter().any(|quoted| text.contains(quoted.as_str()))
                })
                .collect();
            reached.extend(more);
        }
        let sources = reached.iter().filter_map(|name| self.sources.get(*name));
        let mut places = sources.flat_map(|source| {
            let lines = source.text.lines().enumerate().filter(|(_, written)| reads_like(written, line));
            lines.map(|(at, _)| format!("{}:{}", source.name, at + 1))
        });
        places.next().filter(|_| places.next().is_none() && !line.trim().is_empty())
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The functions that minijinja itself brings, such as `range`.
    pub fn globals(&self) -> Vec<String> {
        self.environment.globals().map(|(name, _)| name.to_string()).collect()
    }

    /// The GLSL of one variant.
    pub fn render(&self, kernel: &Kernel, variant: &Variant) -> Result<String, Box<FileError>> {
        let template =
            self.environment.get_template(&kernel.template.text).map_err(|error| self.located(kernel, &error))?;
        template.render(context(kernel, variant)).map_err(|error| self.located(kernel, &error))
    }

    /// Points at the innermost template that an error names.
    pub fn located(&self, kernel: &Kernel, error: &Error) -> Box<FileError> {
        let mut innermost = error;
        while let Some(inner) = std::error::Error::source(innermost).and_then(|source| source.downcast_ref::<Error>()) {
            if inner.name().is_none() {
                break;
            }
            innermost = inner;
        }
        let source = innermost.name().and_then(|name| self.sources.get(name));
        let source = source.filter(|_| error.kind() != ErrorKind::TemplateNotFound);
        let Some(source) = source else {
            let names: Vec<&str> = self.names().collect();
            let wanted = &kernel.template.text;
            let message = match error.kind() {
                ErrorKind::TemplateNotFound => {
                    format!("no template is called `{wanted}` (in {FOLDER}/: {})", join_names(&names))
                }
                _ => message_of(innermost),
            };
            return Box::new(
                FileError::new(&kernel.source, kernel.template.place, message).with_help(did_you_mean(wanted, &names)),
            );
        };
        if innermost.kind() == ErrorKind::SyntaxError
            && innermost.detail().is_some_and(|detail| detail.contains("unexpected end of input"))
            && let Some((tag, place)) = open_block(&source.text)
        {
            let message = format!("this `{tag}` block is not closed (`{{% end{tag} %}}` is missing)");
            return Box::new(FileError::new(source, place, message));
        }
        let line = innermost.line().unwrap_or(1);
        let mut place = Place::of_line(&source.text, line);
        if let Some(range) = innermost
            .range()
            .filter(|range| range.end <= source.text.len() && source.text.is_char_boundary(range.start))
        {
            let line_start = source.text[..range.start].rfind('\n').map_or(0, |n| n + 1);
            place.column = range.start - line_start + 1;
            place.offset_bytes = range.start;
            place.size_bytes = range.end.saturating_sub(range.start);
        }
        Box::new(FileError::new(source, place, message_of(innermost)))
    }
}

/// The innermost block that is open at the end of a template.
fn open_block(text: &str) -> Option<(&str, Place)> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("{%").map(|n| at + n) {
        if let Some(comment) = text[at..start].find("{#") {
            at += comment + text[at + comment..].find("#}")? + 2;
            continue;
        }
        let end = start + text[start..].find("%}")? + 2;
        let inside = text[start + 2..end - 2].trim_matches(['-', '+']).trim();
        let word = inside.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        at = end;
        match word {
            "raw" => at += text[end..].find("endraw")?,
            "set" if inside.contains('=') => {}
            "if" | "for" | "macro" | "call" | "filter" | "block" | "with" | "autoescape" | "set" => {
                open.push((word, start))
            }
            _ if word.starts_with("end") => drop(open.pop()),
            _ => {}
        }
    }
    let (word, offset_bytes) = open.pop()?;
    let before = &text[..offset_bytes];
    let column = offset_bytes - before.rfind('\n').map_or(0, |n| n + 1) + 1;
    let size_bytes = text[offset_bytes..].find("%}")? + 2;
    Some((word, Place { line: before.matches('\n').count() + 1, column, offset_bytes, size_bytes }))
}

/// Whether the template's line may have become `rendered`: word by word, with anything where an expression stands. Lines that
/// are little but expressions may have become anything, and tell nothing.
fn reads_like(written: &str, rendered: &str) -> bool {
    const MIN_LITERAL: usize = 6;
    let (mut written, mut rest) = (written.trim(), rendered.trim());
    let mut n_literal = 0;
    let mut is_open = false;
    loop {
        let (literal, expression) = written.split_once("{{").map_or((written, None), |(l, e)| (l, Some(e)));
        n_literal += literal.chars().filter(|c| !c.is_whitespace()).count();
        // Behind an expression the literal may stand anywhere; the last one at the end.
        let at = match (is_open, expression) {
            (false, Some(_)) => rest.starts_with(literal).then_some(0),
            (false, None) => (rest == literal).then_some(0),
            (true, Some(_)) => rest.find(literal),
            (true, None) => rest.ends_with(literal).then(|| rest.len() - literal.len()),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + literal.len()..];
        match expression.and_then(|expression| expression.split_once("}}")) {
            Some((_, behind)) => (written, is_open) = (behind, true),
            None => return rest.is_empty() && n_literal >= MIN_LITERAL,
        }
    }
}

fn message_of(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// The variables and functions that a template sees.
fn context(kernel: &Kernel, variant: &Variant) -> Value {
    let mut values: Vec<(Value, Value)> = Vec::with_capacity(kernel.axes.len() + CONTEXT.len());
    for choice in &variant.axes {
        let value =
            kernel.axis(&choice.axis).and_then(|axis| axis.values.iter().find(|value| value.name == choice.value));
        if let Some(value) = value {
            values.push((Value::from(choice.axis.as_str()), template_value(value)));
        }
    }
    values.push((Value::from("kernel"), Value::from(kernel.name.as_str())));
    values.push((Value::from("variant"), Value::from(variant.name.as_str())));
    let texts = [
        ("header", declarations::header(variant)),
        ("bindings", declarations::bindings(variant)),
        ("push_constants", declarations::push_constants(kernel)),
        ("spec_constants", declarations::spec_constants(kernel)),
    ];
    for (name, text) in texts {
        let text = Value::from(text);
        values.push((Value::from(name), Value::from_function(move || text.clone())));
    }
    values.push((Value::from("dtype"), lookup(variant, |binding| declarations::dtype_name(binding.dtype))));
    values.push((Value::from("layout"), lookup(variant, |binding| declarations::layout_name(binding.layout))));
    Value::from_pairs(values)
}

/// A function from a binding's name to one of its properties.
fn lookup(variant: &Variant, property: fn(&crate::matrix::Binding) -> &'static str) -> Value {
    let known: Vec<(String, &'static str)> =
        variant.bindings.iter().map(|binding| (binding.name.clone(), property(binding))).collect();
    Value::from_function(move |name: String| -> Result<&'static str, Error> {
        known.iter().find(|(binding, _)| *binding == name).map(|(_, property)| *property).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(binding, _)| binding.as_str()).collect();
            Error::new(
                ErrorKind::InvalidOperation,
                format!("no binding is called `{name}` (allowed: {})", join_names(&names)),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_open_block_is_named() {
        let open = |text: &'static str| open_block(text).map(|(tag, place)| (tag, place.line, place.column));
        assert_eq!(open("{% if a %}\n  {%- for b in c %}\n{% endfor %}\n"), Some(("if", 1, 1)));
        assert_eq!(open("{% if a %}\n  {%- for b in c %}\n"), Some(("for", 2, 3)));
        assert_eq!(
            open("{# {% if a %} #}{% set x = 1 %}{% raw %}{% if %}{% endraw %}{% macro m() %}"),
            Some(("macro", 1, 61))
        );
        assert_eq!(open("{% if a %}{% else %}{% endif %}"), None);
    }

    #[test]
    fn a_rendered_line_is_known_by_what_stands_around_its_expressions() {
        assert!(reads_like("    const int n4 = id.x * {{ tile_texels }};", "const int n4 = id.x * 2;"));
        assert!(reads_like("vec4 y{{ p }} = load({{ at }}, i);", "  vec4 y0 = load(4 * id.x, i);"));
        assert!(reads_like("imageStore(a, b, c);", "imageStore(a, b, c);"));
        for (written, rendered) in [
            ("const int n4 = id.x * {{ tile_texels }};", "const int n4 = id.y * 2;"),
            ("const int n4 = id.x * {{ tile_texels }};", "const int n4 = id.x * 2; // and more"),
            ("imageStore(a, b, c);", "imageStore(a, b, c); }"),
            ("{{ bindings() }}", "layout(set = 0, binding = 0) buffer B { float x[]; };"),
            ("}", "}"),
            ("{{ x", "anything"),
        ] {
            assert!(!reads_like(written, rendered), "{written}: {rendered}");
        }
    }
}
