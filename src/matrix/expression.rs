//! Expressions over axes, in minijinja's language: `where` and filters; and the names that any expression may use.
//! Owns compiling, checking of names and evaluation; must not know files or templates.
//!
//! A record axis stands for its name when it is not followed by a field, so `tile == '2x2x8'` and
//! `tile.oc == 8` both work. A comparison with a value that the axis does not have is an error: it
//! would be false for ever, and nobody would notice.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use minijinja::machinery::{Span, ast, parse_expr};
use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment, UndefinedBehavior, Value};

use super::suggestion::{did_you_mean, join_names};
use super::{Axis, AxisValue, Scalar, Variant};

/// What is wrong with an expression, and in which of its bytes.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    pub message: String,
    pub help: Option<String>,
    pub bytes: Range<usize>,
}

impl miette::Diagnostic for ExpressionError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
});

/// What an expression may name.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    Axes(&'a [Axis]),
    /// Plain integers, such as the features of a case.
    Numbers(&'a [&'a str]),
}

impl Scope<'_> {
    fn names(&self) -> Vec<&str> {
        match self {
            Scope::Axes(axes) => axes.iter().map(|axis| axis.name.as_str()).collect(),
            Scope::Numbers(names) => names.to_vec(),
        }
    }

    fn axis(&self, name: &str) -> Option<&Axis> {
        match self {
            Scope::Axes(axes) => axes.iter().find(|axis| axis.name == name),
            Scope::Numbers(_) => None,
        }
    }
}

/// A compiled expression that is true or false.
pub struct Condition {
    pub text: String,
    /// The names it uses, sorted.
    pub variables: Vec<String>,
    compiled: minijinja::Expression<'static, 'static>,
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({})", self.text)
    }
}

/// Longest expression in bytes: parsing and reading it goes as deep as it is nested.
const MAX_BYTES: usize = 4096;

/// The expression that `text` is; `help` says what may stand in it.
pub(super) fn parsed<'t>(text: &'t str, help: &str) -> Result<ast::Expr<'t>, ExpressionError> {
    let error = |message: String| ExpressionError { message, help: Some(help.to_owned()), bytes: 0..text.len() };
    if text.len() > MAX_BYTES {
        return Err(error(format!("an expression of {} bytes; {MAX_BYTES} are allowed", text.len())));
    }
    parse_expr(text)
        .map_err(|e| error(format!("`{text}` is not an expression: {}", e.detail().unwrap_or("syntax error"))))
}

impl Condition {
    pub fn compile(text: &str, scope: Scope) -> Result<Condition, ExpressionError> {
        let parsed =
            parsed(text, "expressions are minijinja's: == != < <= > >= and or not in [..], strings in quotes")?;
        let whole = 0..text.len();
        let mut variables = Vec::new();
        let mut bare_records = Vec::new();
        let mut problem = None;
        walk(&parsed, &mut |seen| {
            let found = match seen {
                Seen::Variable { name, field, span } => {
                    variables.push(name.to_string());
                    if field.is_none() && scope.axis(name).is_some_and(is_record) {
                        bare_records.push(span.end_offset as usize);
                    }
                    check_name(scope, name, field, bytes(span))
                }
                Seen::Compared { name, value, .. } => {
                    scope.axis(name).and_then(|axis| check_value(axis, value, whole.clone()))
                }
            };
            if problem.is_none() {
                problem = found;
            }
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        variables.sort();
        variables.dedup();

        let mut rewritten = text.to_string();
        bare_records.sort_unstable();
        for end in bare_records.into_iter().rev().filter(|end| text.is_char_boundary(*end)) {
            rewritten.insert_str(end, ".name");
        }
        let compiled = ENVIRONMENT.compile_expression_owned(rewritten).map_err(|error| ExpressionError {
            message: format!("`{text}` is not an expression: {}", error.detail().unwrap_or("syntax error")),
            help: None,
            bytes: whole.clone(),
        })?;
        Ok(Condition { text: text.to_string(), variables, compiled })
    }

    /// Evaluates with `values`, an object of the names in scope.
    pub fn holds(&self, values: Value) -> Result<bool, ExpressionError> {
        let fail = |message: String| ExpressionError { message, help: None, bytes: 0..self.text.len() };
        let value = self.compiled.eval(values).map_err(|error| {
            fail(format!("`{}` cannot be evaluated: {}", self.text, error.detail().unwrap_or("unknown reason")))
        })?;
        match value.kind() {
            minijinja::value::ValueKind::Bool => Ok(value.is_true()),
            _ => Err(fail(format!("`{}` must be true or false, not `{value}`", self.text))),
        }
    }
}

/// A condition over the variants of one kernel.
#[derive(Debug)]
pub struct Filter {
    condition: Condition,
    values: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Filter {
    pub fn new(axes: &[Axis], text: &str) -> Result<Filter, ExpressionError> {
        let condition = Condition::compile(text, Scope::Axes(axes))?;
        let values = axes
            .iter()
            .filter(|axis| condition.variables.contains(&axis.name))
            .map(|axis| {
                (
                    axis.name.clone(),
                    axis.values.iter().map(|value| (value.name.clone(), template_value(value))).collect(),
                )
            })
            .collect();
        Ok(Filter { condition, values })
    }

    pub fn keeps(&self, variant: &Variant) -> Result<bool, ExpressionError> {
        let chosen: BTreeMap<&str, Value> = variant
            .axes
            .iter()
            .filter_map(|choice| {
                Some((choice.axis.as_str(), self.values.get(&choice.axis)?.get(&choice.value)?.clone()))
            })
            .collect();
        self.condition.holds(Value::from_pairs(chosen))
    }
}

/// A record of an axis as expressions and templates see it: its fields, `name`, and the name when printed.
#[derive(Debug)]
struct Record(AxisValue);

impl Object for Record {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "name" => Some(Value::from(self.0.name.as_str())),
            field => self.0.fields.get(field).map(scalar_value),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = self.0.fields.keys().map(|name| Value::from(name.as_str()));
        Enumerator::Values(names.chain([Value::from("name")]).collect())
    }

    fn custom_cmp(self: &Arc<Self>, other: &minijinja::value::DynObject) -> Option<std::cmp::Ordering> {
        Some(self.0.name.cmp(&other.downcast_ref::<Record>()?.0.name))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// An axis value as expressions and templates see it.
pub fn template_value(value: &AxisValue) -> Value {
    match &value.scalar {
        Some(scalar) => scalar_value(scalar),
        None => Value::from_object(Record(value.clone())),
    }
}

fn scalar_value(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Bool(value) => Value::from(*value),
        Scalar::Int(value) => Value::from(*value),
        Scalar::Float(value) => Value::from(*value),
        Scalar::Text(value) => Value::from(value.as_str()),
    }
}

/// Whether the values of an axis are records.
pub fn is_record(axis: &Axis) -> bool {
    axis.values.iter().any(|value| value.scalar.is_none())
}

/// What a walk through an expression meets.
pub enum Seen<'e> {
    /// A variable, with the field that follows it: `tile.px`.
    Variable { name: &'e str, field: Option<&'e str>, span: Span },
    /// A variable, or its `name` (then `named`), compared with a constant.
    Compared { name: &'e str, named: bool, span: Span, value: &'e Value },
}

/// The error in naming `name` or `name.field`, if there is one.
pub fn check_name(scope: Scope, name: &str, field: Option<&str>, bytes: Range<usize>) -> Option<ExpressionError> {
    let names = scope.names();
    if !names.contains(&name) {
        let kind = if matches!(scope, Scope::Axes(_)) { "axis" } else { "feature" };
        return Some(ExpressionError {
            message: format!("no {kind} is called `{name}` (allowed: {})", join_names(&names)),
            help: did_you_mean(name, &names),
            bytes,
        });
    }
    field_problem(scope.axis(name)?, field?).map(|(message, help)| ExpressionError { message, help, bytes })
}

/// What is wrong with `axis.field`: message and suggestion.
pub fn field_problem(axis: &Axis, field: &str) -> Option<(String, Option<String>)> {
    let mut fields: Vec<&str> = axis.values.first()?.fields.keys().map(String::as_str).collect();
    if !is_record(axis) {
        return Some((format!("axis `{}` has no fields, so `{}.{field}` means nothing", axis.name, axis.name), None));
    }
    fields.push("name");
    (!fields.contains(&field)).then(|| {
        (
            format!("axis `{}` has no field `{field}` (allowed: {})", axis.name, join_names(&fields)),
            did_you_mean(field, &fields),
        )
    })
}

/// The error in comparing `axis` with `value`, if the axis has no such value.
fn check_value(axis: &Axis, value: &Value, bytes: Range<usize>) -> Option<ExpressionError> {
    value_problem(axis, value).map(|(message, help)| ExpressionError { message, help, bytes })
}

/// What is wrong with comparing `axis` with a constant: message and suggestion.
pub fn value_problem(axis: &Axis, value: &Value) -> Option<(String, Option<String>)> {
    let names: Vec<&str> = axis.values.iter().map(|v| v.name.as_str()).collect();
    let known = axis.values.iter().any(|v| match &v.scalar {
        Some(scalar) => scalar_value(scalar) == *value,
        None => value.as_str() == Some(v.name.as_str()),
    });
    (!known).then(|| {
        let text = value.to_string();
        let help = if names.contains(&text.as_str()) {
            Some("write numbers without quotes, words with".into())
        } else {
            did_you_mean(&text, &names)
        };
        (format!("axis `{}` has no value `{text}` (allowed: {})", axis.name, join_names(&names)), help)
    })
}

fn bytes(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// Calls `visit` for every variable and every equality with a constant in `expr`.
pub fn walk<'e>(expr: &'e ast::Expr<'e>, visit: &mut dyn FnMut(Seen<'e>)) {
    use ast::Expr;
    match expr {
        Expr::Var(var) => visit(Seen::Variable { name: var.id, field: None, span: var.span() }),
        Expr::Const(_) => {}
        Expr::GetAttr(get) => match &get.expr {
            Expr::Var(var) => visit(Seen::Variable { name: var.id, field: Some(get.name), span: get.span() }),
            inner => walk(inner, visit),
        },
        Expr::GetItem(get) => {
            match (&get.expr, &get.subscript_expr) {
                (Expr::Var(var), Expr::Const(key)) if key.value.as_str().is_some() => {
                    visit(Seen::Variable { name: var.id, field: key.value.as_str(), span: get.span() });
                }
                (inner, _) => walk(inner, visit),
            }
            walk(&get.subscript_expr, visit);
        }
        Expr::Slice(slice) => {
            walk(&slice.expr, visit);
            for part in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                walk(part, visit);
            }
        }
        Expr::UnaryOp(op) => walk(&op.expr, visit),
        // A single comparison is a binary operator, a chain of them a comparison.
        Expr::BinOp(op) => {
            walk(&op.left, visit);
            walk(&op.right, visit);
            match op.op {
                ast::BinOpKind::Eq | ast::BinOpKind::Ne => compare(&op.left, &op.right, visit),
                ast::BinOpKind::In => compare_list(&op.left, &op.right, visit),
                _ => {}
            }
        }
        Expr::Compare(chain) => {
            let mut left = &chain.expr;
            walk(left, visit);
            for op in &chain.ops {
                walk(&op.expr, visit);
                match op.op {
                    ast::CompareOpKind::Eq | ast::CompareOpKind::Ne => compare(left, &op.expr, visit),
                    ast::CompareOpKind::In | ast::CompareOpKind::NotIn => compare_list(left, &op.expr, visit),
                    _ => {}
                }
                left = &op.expr;
            }
        }
        Expr::IfExpr(choice) => {
            walk(&choice.test_expr, visit);
            walk(&choice.true_expr, visit);
            if let Some(other) = &choice.false_expr {
                walk(other, visit);
            }
        }
        Expr::Filter(filter) => {
            if let Some(inner) = &filter.expr {
                walk(inner, visit);
            }
            walk_arguments(&filter.args, visit);
        }
        Expr::Test(test) => {
            walk(&test.expr, visit);
            walk_arguments(&test.args, visit);
        }
        Expr::Call(call) => {
            walk(&call.expr, visit);
            walk_arguments(&call.args, visit);
        }
        Expr::List(list) => list.items.iter().for_each(|item| walk(item, visit)),
        Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| walk(item, visit)),
        Expr::Map(map) => map.keys.iter().chain(&map.values).for_each(|item| walk(item, visit)),
    }
}

fn compare<'e>(left: &'e ast::Expr<'e>, right: &'e ast::Expr<'e>, visit: &mut dyn FnMut(Seen<'e>)) {
    for (side, other) in [(left, right), (right, left)] {
        if let (Some((name, named, span)), ast::Expr::Const(constant)) = (compared_name(side), other) {
            visit(Seen::Compared { name, named, span, value: &constant.value });
        }
    }
}

fn compare_list<'e>(left: &'e ast::Expr<'e>, right: &'e ast::Expr<'e>, visit: &mut dyn FnMut(Seen<'e>)) {
    if let (Some((name, named, span)), ast::Expr::List(list)) = (compared_name(left), right) {
        for item in &list.items {
            if let ast::Expr::Const(constant) = item {
                visit(Seen::Compared { name, named, span, value: &constant.value });
            }
        }
    }
}

pub fn walk_arguments<'e>(arguments: &'e [ast::CallArg<'e>], visit: &mut dyn FnMut(Seen<'e>)) {
    for argument in arguments {
        match argument {
            ast::CallArg::Pos(expr)
            | ast::CallArg::Kwarg(_, expr)
            | ast::CallArg::PosSplat(expr)
            | ast::CallArg::KwargSplat(expr) => {
                walk(expr, visit);
            }
        }
    }
}

/// `tile` or `tile.name` as one side of a comparison, and which of the two it is.
fn compared_name<'e>(expr: &'e ast::Expr<'e>) -> Option<(&'e str, bool, Span)> {
    match expr {
        ast::Expr::Var(var) => Some((var.id, false, var.span())),
        ast::Expr::GetAttr(get) if get.name == "name" => match &get.expr {
            ast::Expr::Var(var) => Some((var.id, true, get.span())),
            _ => None,
        },
        _ => None,
    }
}

/// A text with `{{ axis }}` in it, such as `{{ act }}_c4`.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub text: String,
    /// The axes it uses, sorted.
    pub variables: Vec<String>,
}

impl Pattern {
    pub fn compile(text: &str, axes: &[Axis]) -> Result<Pattern, ExpressionError> {
        let whole = 0..text.len();
        let template = ENVIRONMENT.template_from_str(text).map_err(|error| ExpressionError {
            message: format!("`{text}` is not a template: {}", error.detail().unwrap_or("syntax error")),
            help: None,
            bytes: whole.clone(),
        })?;
        let mut variables = Vec::new();
        let mut used: Vec<String> = template.undeclared_variables(true).into_iter().collect();
        used.sort();
        for name in used {
            let (axis, field) = name.split_once('.').map_or((name.as_str(), None), |(axis, field)| (axis, Some(field)));
            if let Some(problem) = check_name(Scope::Axes(axes), axis, field, whole.clone()) {
                return Err(problem);
            }
            variables.push(axis.to_string());
        }
        variables.dedup();
        Ok(Pattern { text: text.to_string(), variables })
    }

    pub fn render(&self, values: Value) -> Result<String, ExpressionError> {
        ENVIRONMENT.template_from_str(&self.text).and_then(|template| template.render(values)).map_err(|error| {
            ExpressionError {
                message: format!("`{}` cannot be rendered: {}", self.text, error.detail().unwrap_or("unknown reason")),
                help: None,
                bytes: 0..self.text.len(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Phase;

    fn axes() -> Vec<Axis> {
        let word = |name: &str| AxisValue {
            name: name.into(),
            scalar: Some(Scalar::Text(name.into())),
            fields: Default::default(),
        };
        let tile = |name: &str, px: i64| AxisValue {
            name: name.into(),
            scalar: None,
            fields: [("px".to_string(), Scalar::Int(px))].into_iter().collect(),
        };
        vec![
            Axis { name: "acc".into(), phase: Phase::Given, values: vec![word("f32"), word("f16")] },
            Axis { name: "tile".into(), phase: Phase::Dispatch, values: vec![tile("1x1", 1), tile("2x1", 2)] },
        ]
    }

    fn eval(text: &str, acc: usize, tile: usize) -> Result<bool, ExpressionError> {
        let axes = axes();
        let condition = Condition::compile(text, Scope::Axes(&axes))?;
        let values: BTreeMap<&str, Value> =
            [("acc", template_value(&axes[0].values[acc])), ("tile", template_value(&axes[1].values[tile]))]
                .into_iter()
                .collect();
        condition.holds(Value::from_pairs(values))
    }

    #[test]
    fn records_compare_by_name_and_by_field() {
        assert!(eval("tile == '2x1'", 0, 1).unwrap());
        assert!(!eval("tile == '2x1'", 0, 0).unwrap());
        assert!(eval("tile in ['2x1'] and tile.px == 2", 0, 1).unwrap());
        assert!(eval("acc == 'f32' or tile != '2x1'", 1, 0).unwrap());
    }

    #[test]
    fn slips_are_named() {
        let message = |text: &str| eval(text, 0, 0).unwrap_err().to_string();
        assert_eq!(message("ac == 'f32'"), "no axis is called `ac` (allowed: acc, tile)");
        assert_eq!(message("acc == 'f23'"), "axis `acc` has no value `f23` (allowed: f32, f16)");
        assert_eq!(message("tile in ['1x1', '3x1']"), "axis `tile` has no value `3x1` (allowed: 1x1, 2x1)");
        assert_eq!(message("tile.py == 1"), "axis `tile` has no field `py` (allowed: px, name)");
        assert_eq!(message("acc.px == 1"), "axis `acc` has no fields, so `acc.px` means nothing");
        assert_eq!(message("acc"), "`acc` must be true or false, not `f32`");
        assert!(message("acc ==").contains("is not an expression"));
    }
}
