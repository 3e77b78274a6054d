//! The reader of `variants.yaml`: everything that can be said wrong there is said with file, line,
//! column, what was given and what is allowed. Knows the keys; must not expand, render or compile.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::document::{Document, Fields, FileError, Key, Node, Place, display_name};
use super::expression::{Condition, ExpressionError, Pattern, Scope, is_record};
use super::kernel::{
    BindingDeclaration, Divisor, GridDeclaration, GridForm, GridTermDeclaration, Kernel, Matrix, OpFeatures, Reference,
    Text, Where,
};
use super::predicate::Predicate;
use super::{
    Axis, AxisChoice, AxisValue, GlslType, Padding, Phase, PushField, Role, Scalar, Shrink, SpecConst, local_name,
};
use crate::matrix::document::Content;

/// The schema of `variants.yaml` that this version reads.
pub const SCHEMA: i64 = 1;
pub const FILE_NAME: &str = "variants.yaml";

/// Names that a template already has, so no axis may take them.
const RESERVED: [&str; 11] = [
    "kernel",
    "variant",
    "header",
    "bindings",
    "push_constants",
    "spec_constants",
    "dtype",
    "layout",
    "loop",
    "self",
    "caller",
];

const GLSL_TYPES: [(&str, GlslType); 9] = [
    ("bool", GlslType::Bool),
    ("int", GlslType::Int),
    ("uint", GlslType::Uint),
    ("float", GlslType::Float),
    ("vec2", GlslType::Vec2),
    ("vec4", GlslType::Vec4),
    ("ivec2", GlslType::Ivec2),
    ("ivec4", GlslType::Ivec4),
    ("uvec4", GlslType::Uvec4),
];

/// Why `variants.yaml` could not be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum MatrixError {
    #[error("cannot read {path}: {source}")]
    #[diagnostic(help("a project is a folder with {FILE_NAME} and templates/; name another with --project DIR"))]
    Unreadable { path: String, source: std::io::Error },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<FileError>),
}

/// Reads `variants.yaml` of the project in `dir`; `ops` are the operations a kernel may name.
pub fn load(dir: &Path, ops: &[OpFeatures]) -> Result<Matrix, MatrixError> {
    let path = dir.join(FILE_NAME);
    let name = display_name(&path);
    let text =
        std::fs::read_to_string(&path).map_err(|source| MatrixError::Unreadable { path: name.clone(), source })?;
    Ok(parse(&name, &text, ops)?)
}

/// Reads the text of a `variants.yaml` that messages call `name`.
pub fn parse(name: &str, text: &str, ops: &[OpFeatures]) -> Result<Matrix, Box<FileError>> {
    let document = Document::parse(name, text)?;
    let top = document.fields(&document.root, FILE_NAME, &["schema", "kernels"])?;
    let schema = top.require("schema")?;
    match document.scalar(schema, "schema")? {
        Scalar::Int(SCHEMA) => {}
        other => {
            return Err(
                document.error(schema.place, format!("schema is {other}, and this tilesmith reads schema {SCHEMA}"))
            );
        }
    }
    let kernels = top.require("kernels")?;
    let entries = document.entries(kernels, "kernels")?;
    if entries.is_empty() {
        return Err(document.error(kernels.place, "kernels is empty, so there is nothing to tune"));
    }
    let kernels = entries
        .iter()
        .map(|(key, node)| Reader { document: &document, ops, kernel: &key.name }.kernel(key, node))
        .collect::<Result<_, _>>()?;
    Ok(Matrix { source: Arc::clone(&document.source), kernels })
}

type Read<T> = Result<T, Box<FileError>>;

struct Reader<'a> {
    document: &'a Document,
    ops: &'a [OpFeatures<'a>],
    kernel: &'a str,
}

impl Reader<'_> {
    fn kernel(&self, key: &Key, node: &Node) -> Read<Kernel> {
        let document = self.document;
        self.identifier(&key.name, key.place, "kernel")?;
        let what = format!("kernel {}", key.name);
        let fields = document.fields(
            node,
            &what,
            &[
                "template",
                "op",
                "accepts",
                "accumulate",
                "axes",
                "where",
                "bindings",
                "push",
                "spec",
                "grid",
                "local",
                "reference",
            ],
        )?;
        let op_node = fields.require("op")?;
        let op = document.text(op_node, "op")?;
        let op_names: Vec<&str> = self.ops.iter().map(|(name, _)| *name).collect();
        let Some((_, features)) = self.ops.iter().find(|(name, _)| *name == op) else {
            return Err(document.unknown(op_node.place, format!("unknown op `{op}`"), &op, &op_names));
        };
        let (axes, axis_places) = self.axes(fields.require("axes")?)?;
        let accepts = match fields.get("accepts") {
            Some(node) => {
                let text = document.text(node, "accepts")?;
                Some(Predicate::compile(&text, features).map_err(|e| self.expression(node, e))?)
            }
            None => None,
        };
        let (local_sizes, shrink) = self.local(fields.require("local")?)?;
        Ok(Kernel {
            name: key.name.clone(),
            place: key.place,
            template: self.text(fields.require("template")?, "template")?,
            op,
            accepts,
            accumulate: self.pattern(fields.require("accumulate")?, "accumulate", &axes)?,
            rules: self.rules(fields.get("where"), &axes)?,
            bindings: self.bindings(fields.require("bindings")?, &axes)?,
            push: self.push(fields.get("push"), features)?,
            spec: self.spec(fields.get("spec"), features)?,
            grid: self.grid(fields.require("grid")?, &axes, features)?,
            reference: self.reference(fields.require("reference")?, &axes, &local_sizes)?,
            local_sizes,
            shrink,
            axes,
            axis_places,
            source: Arc::clone(&document.source),
        })
    }

    fn axes(&self, node: &Node) -> Read<(Vec<Axis>, Vec<Place>)> {
        let entries = self.document.entries(node, "axes")?;
        if entries.is_empty() {
            return Err(self.document.error(node.place, format!("kernel {} has no axes", self.kernel)));
        }
        let mut axes = Vec::new();
        for (key, node) in entries {
            self.identifier(&key.name, key.place, "axis")?;
            if RESERVED.contains(&key.name.as_str()) {
                return Err(self.document.error(
                    key.place,
                    format!("an axis cannot be called `{}`: templates use that name for something else", key.name),
                ));
            }
            let what = format!("axis {}", key.name);
            let fields = self.document.fields(node, &what, &["phase", "values"])?;
            let phase = self.document.choice(
                fields.require("phase")?,
                "phase",
                &[("given", Phase::Given), ("pack", Phase::Pack), ("dispatch", Phase::Dispatch)],
            )?;
            let values = self.values(fields.require("values")?, &what)?;
            axes.push(Axis { name: key.name.clone(), phase, values });
        }
        Ok((axes, entries.iter().map(|(key, _)| key.place).collect()))
    }

    /// A list of scalars, or a mapping of short names to records.
    fn values(&self, node: &Node, what: &str) -> Read<Vec<AxisValue>> {
        let document = self.document;
        let mut values: Vec<AxisValue> = Vec::new();
        let mut places = Vec::new();
        match &node.content {
            Content::List(items) => {
                for item in items {
                    let scalar = document.scalar(item, &format!("a value of {what}"))?.clone();
                    values.push(AxisValue {
                        name: scalar.to_string(),
                        scalar: Some(scalar),
                        fields: Default::default(),
                    });
                    places.push(item.place);
                }
            }
            Content::Map(entries) => {
                for (key, record) in entries {
                    let record_what = format!("value {} of {what}", key.name);
                    let mut fields = indexmap::IndexMap::new();
                    for (field, value) in document.entries(record, &record_what)? {
                        self.identifier(&field.name, field.place, "field")?;
                        if field.name == "name" {
                            return Err(document.error(
                                field.place,
                                format!("{record_what} cannot have a field `name`: that is the value's own name"),
                            ));
                        }
                        fields.insert(
                            field.name.clone(),
                            document.scalar(value, &format!("field {} of {record_what}", field.name))?.clone(),
                        );
                    }
                    if fields.is_empty() {
                        return Err(document.error(record.place, format!("{record_what} is a record without fields")));
                    }
                    if let Some(first) = values.first() {
                        let missing = first.fields.keys().find(|name| !fields.contains_key(*name));
                        let extra = fields.keys().find(|name| !first.fields.contains_key(*name));
                        if let Some(name) = missing.or(extra) {
                            let message = format!(
                                "the records of {what} must have the same fields, and `{name}` is not in both {} and {}",
                                first.name, key.name
                            );
                            return Err(document.error(key.place, message));
                        }
                    }
                    values.push(AxisValue { name: key.name.clone(), scalar: None, fields });
                    places.push(key.place);
                }
            }
            other => {
                return Err(document.error(
                    node.place,
                    format!("values of {what} must be a list or a mapping, not {}", other.describe()),
                ));
            }
        }
        if values.is_empty() {
            return Err(document.error(node.place, format!("{what} has no values")));
        }
        let mut names = HashSet::with_capacity(values.len());
        for (value, place) in values.iter().zip(&places) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
            if value.name.is_empty() || value.name.len() > 64 || !value.name.chars().all(plain) {
                let message = format!(
                    "`{}` cannot name a value of {what}: letters, digits, `_`, `-`, `.` and `+` only, at most 64",
                    value.name.escape_debug()
                );
                return Err(document.error(*place, message));
            }
            if !names.insert(value.name.as_str()) {
                return Err(document.error(*place, format!("{what} has the value `{}` twice", value.name)));
            }
        }
        Ok(values)
    }

    fn rules(&self, node: Option<&Node>, axes: &[Axis]) -> Read<Vec<Where>> {
        let Some(node) = node else { return Ok(Vec::new()) };
        let rule = |item: &Node| {
            let fields = self.document.fields(item, "a where rule", &["keep", "because"])?;
            let keep_node = fields.require("keep")?;
            let keep = self.text(keep_node, "keep")?;
            let condition =
                Condition::compile(&keep.text, Scope::Axes(axes)).map_err(|error| self.expression(keep_node, error))?;
            let because = self.document.text(fields.require("because")?, "because")?;
            Ok(Where { keep, because, condition: Arc::new(condition) })
        };
        self.document.list(node, "where")?.iter().map(rule).collect()
    }

    fn bindings(&self, node: &Node, axes: &[Axis]) -> Read<Vec<BindingDeclaration>> {
        let document = self.document;
        let mut bindings: Vec<BindingDeclaration> = Vec::new();
        for item in document.list(node, "bindings")? {
            let fields = document.fields(item, "a binding", &["role", "name", "layout", "dtype", "padding"])?;
            let roles =
                [("output", Role::Output), ("input", Role::Input), ("weight", Role::Weight), ("bias", Role::Bias)];
            let role = document.choice(fields.require("role")?, "role", &roles)?;
            let name = self.name_of(&fields, "binding", bindings.iter().map(|b| b.name.as_str()))?;
            let paddings = [("zero", Padding::Zero), ("undefined", Padding::Undefined)];
            let padding = fields.get("padding").map(|node| document.choice(node, "padding", &paddings)).transpose()?;
            bindings.push(BindingDeclaration {
                role,
                layout: self.pattern(fields.require("layout")?, "layout", axes)?,
                dtype: self.pattern(fields.require("dtype")?, "dtype", axes)?,
                padding,
                place: item.place,
                name,
            });
        }
        if !bindings.iter().any(|binding| binding.role == Role::Output) {
            return Err(document.error(node.place, format!("kernel {} has no binding of role output", self.kernel)));
        }
        Ok(bindings)
    }

    fn push(&self, node: Option<&Node>, features: &[&str]) -> Read<Vec<PushField>> {
        let Some(node) = node else { return Ok(Vec::new()) };
        let document = self.document;
        let mut push: Vec<PushField> = Vec::new();
        for item in document.list(node, "push")? {
            let fields = document.fields(item, "a push constant", &["name", "type", "value"])?;
            let name = self.name_of(&fields, "push constant", push.iter().map(|p| p.name.as_str()))?;
            let ty = document.choice(fields.require("type")?, "type", &GLSL_TYPES)?;
            let value_node = fields.require("value")?;
            let value = match &value_node.content {
                Content::List(items) => {
                    items.iter().map(|item| self.feature(item, features)).collect::<Read<Vec<_>>>()?
                }
                _ => vec![self.feature(value_node, features)?],
            };
            if value.len() != ty.n_components() {
                let type_name = GLSL_TYPES.iter().find(|(_, t)| *t == ty).map_or("?", |(n, _)| n);
                let message = format!(
                    "push constant {name} is a {type_name} of {} components, and {} are given",
                    ty.n_components(),
                    value.len()
                );
                return Err(document.error(value_node.place, message));
            }
            push.push(PushField { name, ty, value });
        }
        Ok(push)
    }

    fn spec(&self, node: Option<&Node>, features: &[&str]) -> Read<Vec<SpecConst>> {
        let Some(node) = node else { return Ok(Vec::new()) };
        let document = self.document;
        let mut spec: Vec<SpecConst> = Vec::new();
        for item in document.list(node, "spec")? {
            let fields = document.fields(item, "a specialization constant", &["name", "type", "value"])?;
            let name = self.name_of(&fields, "specialization constant", spec.iter().map(|s| s.name.as_str()))?;
            let ty_node = fields.require("type")?;
            let ty = document.choice(ty_node, "type", &GLSL_TYPES)?;
            if ty.n_components() != 1 {
                return Err(document
                    .error(ty_node.place, "a specialization constant is a scalar (allowed: bool, int, uint, float)"));
            }
            spec.push(SpecConst { name, ty, value: self.feature(fields.require("value")?, features)? });
        }
        Ok(spec)
    }

    fn grid(&self, node: &Node, axes: &[Axis], features: &[&str]) -> Read<GridDeclaration> {
        let document = self.document;
        let entries = document.entries(node, "grid")?;
        let Some((_, by)) = entries.iter().find(|(key, _)| key.name == "by") else {
            return Ok(GridDeclaration::Plain(self.grid_form(node, "grid", axes, features)?));
        };
        let axis_name = document.text(by, "by")?;
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let Some(axis) = names.iter().position(|name| *name == axis_name) else {
            return Err(document.unknown(
                by.place,
                format!("grid is by `{axis_name}`, which is no axis"),
                &axis_name,
                &names,
            ));
        };
        let mut allowed: Vec<&str> = axes[axis].values.iter().map(|value| value.name.as_str()).collect();
        allowed.push("by");
        let fields = document.fields(node, "grid", &allowed)?;
        let form = |value: &AxisValue| {
            self.grid_form(fields.require(&value.name)?, &format!("grid {}", value.name), axes, features)
        };
        Ok(GridDeclaration::By { axis, forms: axes[axis].values.iter().map(form).collect::<Read<_>>()? })
    }

    fn grid_form(&self, node: &Node, what: &str, axes: &[Axis], features: &[&str]) -> Read<GridForm> {
        let fields = self.document.fields(node, what, &["x", "y", "z"])?;
        let terms = |key: &str| -> Read<Vec<GridTermDeclaration>> {
            let node = fields.require(key)?;
            match &node.content {
                Content::List(items) if items.is_empty() => {
                    Err(self.document.error(node.place, format!("{what} {key} has no terms")))
                }
                Content::List(items) => items.iter().map(|item| self.grid_term(item, axes, features)).collect(),
                _ => Ok(vec![self.grid_term(node, axes, features)?]),
            }
        };
        Ok([terms("x")?, terms("y")?, terms("z")?])
    }

    fn grid_term(&self, node: &Node, axes: &[Axis], features: &[&str]) -> Read<GridTermDeclaration> {
        let document = self.document;
        let fields = document.fields(node, "a grid term", &["of", "per"])?;
        let of_node = fields.require("of")?;
        let mut of = Vec::new();
        for name in document.text(of_node, "of")?.split('*').map(str::trim) {
            if !features.contains(&name) {
                return Err(document.unknown(
                    of_node.place,
                    format!("no feature of the op is called `{name}`"),
                    name,
                    features,
                ));
            }
            of.push(name.to_string());
        }
        let mut per = Vec::new();
        if let Some(node) = fields.get("per") {
            for factor in document.text(node, "per")?.split('*').map(str::trim) {
                per.push(self.divisor(node, factor, axes)?);
            }
        }
        Ok(GridTermDeclaration { of, per })
    }

    /// `4`, `kstep` (an integer axis), `px` (a field that one record axis has) or `tile.px`.
    fn divisor(&self, node: &Node, factor: &str, axes: &[Axis]) -> Read<Divisor> {
        let document = self.document;
        if factor.chars().all(|c| c.is_ascii_digit()) && !factor.is_empty() {
            return match factor.parse() {
                Ok(number) if number > 0 => Ok(Divisor::Number(number)),
                _ => Err(document.error(node.place, format!("per must be at least 1, not {factor}"))),
            };
        }
        let (axis_name, field) = factor.split_once('.').map_or((None, factor), |(axis, field)| (Some(axis), field));
        let has_field = |axis: &Axis| axis.values.iter().all(|value| value.fields.contains_key(field));
        let mut found = axes.iter().enumerate().filter(|(_, axis)| match axis_name {
            Some(name) => axis.name == name && has_field(axis),
            None => has_field(axis) || (axis.name == field && !is_record(axis)),
        });
        let (Some((n, axis)), None) = (found.next(), found.next()) else {
            let mut known: Vec<&str> = axes
                .iter()
                .filter_map(|axis| axis.values.first())
                .flat_map(|value| value.fields.keys().map(String::as_str))
                .collect();
            known.extend(
                axes.iter()
                    .filter(|axis| axis.values.iter().all(|v| matches!(v.scalar, Some(Scalar::Int(_)))))
                    .map(|axis| axis.name.as_str()),
            );
            let ambiguous = axes.iter().filter(|axis| has_field(axis)).count() > 1;
            let message = if ambiguous && axis_name.is_none() {
                format!("per `{factor}` is a field of several axes; write AXIS.{factor}")
            } else {
                format!("per `{factor}` is neither a number nor a field of an axis")
            };
            return Err(document.unknown(node.place, message, field, &known));
        };
        for value in &axis.values {
            let scalar = value.scalar.as_ref().or_else(|| value.fields.get(field));
            if !matches!(scalar, Some(Scalar::Int(1..=0xffff_ffff))) {
                return Err(document.error(
                    node.place,
                    format!(
                        "per `{factor}` must be an integer of at least 1 in every value of axis {}, and {} has another",
                        axis.name, value.name
                    ),
                ));
            }
        }
        Ok(if is_record(axis) { Divisor::Field { axis: n, field: field.to_string() } } else { Divisor::Axis(n) })
    }

    fn local(&self, node: &Node) -> Read<(Vec<[u32; 3]>, Shrink)> {
        let document = self.document;
        let fields = document.fields(node, "local", &["sizes", "shrink"])?;
        let sizes_node = fields.require("sizes")?;
        let mut sizes = Vec::new();
        for item in document.list(sizes_node, "sizes")? {
            let size = self.local_size(item)?;
            if sizes.contains(&size) {
                return Err(document.error(item.place, format!("local size {} stands twice", local_name(size))));
            }
            sizes.push(size);
        }
        if sizes.is_empty() {
            return Err(document.error(sizes_node.place, "local has no sizes"));
        }
        let shrink = match fields.get("shrink") {
            Some(node) => document.choice(node, "shrink", &[("none", Shrink::None), ("to_grid", Shrink::ToGrid)])?,
            None => Shrink::None,
        };
        Ok((sizes, shrink))
    }

    fn local_size(&self, node: &Node) -> Read<[u32; 3]> {
        let sizes = self
            .document
            .list(node, "a local size")?
            .iter()
            .map(|n| self.document.integer(n, "a local size", 1))
            .collect::<Read<Vec<_>>>()?;
        <[u32; 3]>::try_from(sizes).map_err(|given| {
            self.document
                .error(node.place, format!("a local size has 3 numbers [x, y, z], and {} are given", given.len()))
        })
    }

    fn reference(&self, node: &Node, axes: &[Axis], local_sizes: &[[u32; 3]]) -> Read<Reference> {
        let document = self.document;
        let entries = document.entries(node, "reference")?;
        for (key, _) in entries {
            if axes.iter().any(|axis| axis.name == key.name && axis.phase == Phase::Given) {
                let message = format!(
                    "axis {} is given by the caller, so it cannot stand in reference: there is one reference in each given class",
                    key.name
                );
                return Err(document.error(key.place, message));
            }
        }
        let mut allowed: Vec<&str> =
            axes.iter().filter(|axis| axis.phase != Phase::Given).map(|axis| axis.name.as_str()).collect();
        allowed.push("local");
        let fields = document.fields(node, "reference", &allowed)?;
        let mut choices = Vec::new();
        for axis in axes.iter().filter(|axis| axis.phase != Phase::Given) {
            let node = fields.require(&axis.name)?;
            let value = document.text(node, &axis.name)?;
            let values: Vec<&str> = axis.values.iter().map(|v| v.name.as_str()).collect();
            if !values.contains(&value.as_str()) {
                return Err(document.unknown(
                    node.place,
                    format!("axis {} has no value `{value}`", axis.name),
                    &value,
                    &values,
                ));
            }
            choices.push(AxisChoice { axis: axis.name.clone(), phase: axis.phase, value });
        }
        let local_node = fields.require("local")?;
        let local = self.local_size(local_node)?;
        if !local_sizes.contains(&local) {
            let sizes: Vec<String> = local_sizes.iter().map(|size| local_name(*size)).collect();
            return Err(document.error(
                local_node.place,
                format!(
                    "reference local {} is none of the local sizes (allowed: {})",
                    local_name(local),
                    sizes.join(", ")
                ),
            ));
        }
        Ok(Reference { axes: choices, local })
    }

    /// The `name` of a declaration: an identifier that no earlier one has.
    fn name_of<'n>(&self, fields: &Fields, what: &str, mut earlier: impl Iterator<Item = &'n str>) -> Read<String> {
        let node = fields.require("name")?;
        let name = self.document.text(node, "name")?;
        self.identifier(&name, node.place, what)?;
        if earlier.any(|other| other == name) {
            return Err(self.document.error(node.place, format!("two declarations of a {what} are called `{name}`")));
        }
        Ok(name)
    }

    fn feature(&self, node: &Node, features: &[&str]) -> Read<String> {
        let name = self.document.text(node, "value")?;
        if !features.contains(&name.as_str()) {
            return Err(self.document.unknown(
                node.place,
                format!("no feature of the op is called `{name}`"),
                &name,
                features,
            ));
        }
        Ok(name)
    }

    fn text(&self, node: &Node, what: &str) -> Read<Text> {
        Ok(Text { text: self.document.text(node, what)?, place: node.place })
    }

    fn pattern(&self, node: &Node, what: &str, axes: &[Axis]) -> Read<Text> {
        let text = self.text(node, what)?;
        Pattern::compile(&text.text, axes).map_err(|error| self.expression(node, error))?;
        Ok(text)
    }

    fn identifier(&self, name: &str, place: Place, what: &str) -> Read<()> {
        let mut chars = name.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if first && name.len() <= 64 && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Ok(());
        }
        Err(self.document.error(
            place,
            format!(
                "`{}` cannot name a {what}: a letter, then letters, digits and `_`, at most 64",
                name.escape_debug()
            ),
        ))
    }

    fn expression(&self, node: &Node, error: ExpressionError) -> Box<FileError> {
        let mut error_at = FileError::new(&self.document.source, node.place, error.message);
        error_at.help = error.help;
        Box::new(error_at)
    }
}
