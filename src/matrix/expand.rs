//! The expansion of a kernel: the product of its axes, filtered by its rules. Knows axes and rules;
//! must not render or compile.

use std::collections::HashMap;

use minijinja::Value;

use super::document::{FileError, Place};
use super::expression::{ExpressionError, Pattern, template_value};
use super::kernel::{Divisor, GridDeclaration, GridForm, GridTermDeclaration, Kernel};
use super::suggestion::join_names;
use super::{AxisChoice, Binding, Dtype, Grid, GridTerm, Layout, Scalar, Variant};

/// More points than this are a slip in the file, not a matrix.
pub const MAX_POINTS: usize = 1_000_000;

/// What a kernel expands to, in file order: the last axis varies fastest.
#[derive(Debug, Clone)]
pub struct Expansion {
    pub variants: Vec<Variant>,
    /// For each variant the index of its value on each axis.
    pub points: Vec<Vec<usize>>,
    pub filtered: Vec<Filtered>,
}

/// A point of the product that a rule removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    pub name: String,
    pub axes: Vec<AxisChoice>,
    /// Index into the kernel's rules.
    pub rule: usize,
}

/// Something that depends on a few axes only, worked out once for each combination of these.
struct Projection<T> {
    axes: Vec<usize>,
    known: HashMap<Vec<usize>, T>,
}

impl<T: Clone> Projection<T> {
    fn new(kernel: &Kernel, variables: &[String]) -> Self {
        let axes =
            kernel.axes.iter().enumerate().filter(|(_, axis)| variables.contains(&axis.name)).map(|(n, _)| n).collect();
        Self { axes, known: HashMap::new() }
    }

    fn get<E>(&mut self, kernel: &Kernel, point: &[usize], work: impl FnOnce(Value) -> Result<T, E>) -> Result<T, E> {
        let key: Vec<usize> = self.axes.iter().map(|n| point[*n]).collect();
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let values = self
            .axes
            .iter()
            .map(|n| (kernel.axes[*n].name.as_str(), template_value(&kernel.axes[*n].values[point[*n]])));
        let result = work(Value::from_pairs(values))?;
        self.known.insert(key, result.clone());
        Ok(result)
    }
}

/// A pattern that must render to one of a few words.
struct Word<'k, T> {
    what: &'static str,
    place: Place,
    pattern: Pattern,
    choices: &'k [(&'static str, T)],
    projection: Projection<T>,
}

impl<'k, T: Copy> Word<'k, T> {
    fn new(
        kernel: &Kernel,
        what: &'static str,
        text: &super::kernel::Text,
        choices: &'k [(&'static str, T)],
    ) -> Result<Self, Box<FileError>> {
        let pattern = Pattern::compile(&text.text, &kernel.axes).map_err(|error| located(kernel, text.place, error))?;
        let projection = Projection::new(kernel, &pattern.variables);
        Ok(Self { what, place: text.place, pattern, choices, projection })
    }

    fn get(&mut self, kernel: &Kernel, point: &[usize]) -> Result<T, Box<FileError>> {
        let Word { what, place, pattern, choices, projection } = self;
        projection.get(kernel, point, |values| {
            let word = pattern.render(values).map_err(|error| located(kernel, *place, error))?;
            choices.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
                let allowed: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                kernel.error(
                    *place,
                    format!(
                        "{what} `{}` gives `{word}` for {} (allowed: {})",
                        pattern.text,
                        name_of(kernel, point),
                        join_names(&allowed)
                    ),
                )
            })
        })
    }
}

const DTYPES: [(&str, Dtype); 2] = [("f32", Dtype::F32), ("f16", Dtype::F16)];

/// Expands one kernel.
pub fn expand(kernel: &Kernel) -> Result<Expansion, Box<FileError>> {
    let n_points =
        kernel.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len())).filter(|n| *n <= MAX_POINTS);
    let Some(n_points) = n_points else {
        let sizes: Vec<String> =
            kernel.axes.iter().map(|axis| format!("{} {}", axis.name, axis.values.len())).collect();
        let message = format!(
            "kernel {} has more than {MAX_POINTS} combinations of values before `where` (axes: {})",
            kernel.name,
            sizes.join(", ")
        );
        let help = "leave values or axes out, or split the kernel in two with a template in common";
        return Err(Box::new(FileError::new(&kernel.source, kernel.place, message).with_help(Some(help.to_owned()))));
    };
    let mut rules: Vec<Projection<bool>> =
        kernel.rules.iter().map(|rule| Projection::new(kernel, &rule.condition.variables)).collect();
    let mut accumulate = Word::new(kernel, "accumulate", &kernel.accumulate, &DTYPES)?;
    let mut layouts = Vec::new();
    let mut dtypes = Vec::new();
    for binding in &kernel.bindings {
        layouts.push(Word::new(kernel, "layout", &binding.layout, &Layout::ALL)?);
        dtypes.push(Word::new(kernel, "dtype", &binding.dtype, &DTYPES)?);
    }

    let mut expansion = Expansion {
        variants: Vec::with_capacity(n_points),
        points: Vec::with_capacity(n_points),
        filtered: Vec::new(),
    };
    let mut names: HashMap<String, usize> = HashMap::with_capacity(n_points);
    let mut point = vec![0usize; kernel.axes.len()];
    for _ in 0..n_points {
        let name = name_of(kernel, &point);
        let axes = choices_of(kernel, &point);
        let mut removed = None;
        for (n, projection) in rules.iter_mut().enumerate() {
            let rule = &kernel.rules[n];
            if !projection
                .get(kernel, &point, |values| rule.condition.holds(values))
                .map_err(|error| located(kernel, rule.keep.place, error))?
            {
                removed = Some(n);
                break;
            }
        }
        if let Some(rule) = removed {
            expansion.filtered.push(Filtered { name, axes, rule });
        } else {
            if let Some(earlier) = names.insert(name.clone(), expansion.variants.len()) {
                let other: &Variant = &expansion.variants[earlier];
                let differing: Vec<String> = axes
                    .iter()
                    .zip(&other.axes)
                    .filter(|(a, b)| a.value != b.value)
                    .map(|(a, b)| format!("{}: {} and {}", a.axis, b.value, a.value))
                    .collect();
                return Err(kernel.error(
                    kernel.place,
                    format!("two variants are called {name} ({}); rename a value", differing.join("; ")),
                ));
            }
            let mut bindings = Vec::with_capacity(kernel.bindings.len());
            for (n, declaration) in kernel.bindings.iter().enumerate() {
                bindings.push(Binding {
                    role: declaration.role,
                    name: declaration.name.clone(),
                    layout: layouts[n].get(kernel, &point)?,
                    dtype: dtypes[n].get(kernel, &point)?,
                    padding: declaration.padding,
                });
            }
            let accumulate = accumulate.get(kernel, &point)?;
            let grid = grid_of(kernel, &point).ok_or_else(|| {
                kernel.error(kernel.place, format!("the grid of {name} divides by more than u32 holds"))
            })?;
            expansion.variants.push(Variant { kernel: kernel.name.clone(), name, axes, accumulate, bindings, grid });
            expansion.points.push(point.clone());
        }
        advance(kernel, &mut point);
    }
    if expansion.variants.is_empty() {
        let place = kernel.rules.first().map_or(kernel.place, |rule| rule.keep.place);
        return Err(kernel.error(
            place,
            format!(
                "the where rules of kernel {} remove all {n_points} points; nothing is left to compile",
                kernel.name
            ),
        ));
    }
    check_reference(kernel, &expansion)?;
    Ok(expansion)
}

/// Every given class must have its reference among the variants.
fn check_reference(kernel: &Kernel, expansion: &Expansion) -> Result<(), Box<FileError>> {
    let is_reference = |variant: &Variant| {
        kernel.reference.axes.iter().all(|choice| variant.axis(&choice.axis) == Some(choice.value.as_str()))
    };
    let with_reference: std::collections::BTreeSet<String> =
        expansion.variants.iter().filter(|v| is_reference(v)).map(Variant::given_class).collect();
    match expansion.variants.iter().map(Variant::given_class).find(|class| !with_reference.contains(class)) {
        Some(class) => Err(kernel.error(
            kernel.place,
            format!("the where rules of kernel {} remove the reference of the given class {class}", kernel.name),
        )),
        None => Ok(()),
    }
}

fn advance(kernel: &Kernel, point: &mut [usize]) {
    for (n, index) in point.iter_mut().enumerate().rev() {
        *index += 1;
        if *index < kernel.axes[n].values.len() {
            return;
        }
        *index = 0;
    }
}

fn name_of(kernel: &Kernel, point: &[usize]) -> String {
    let mut name = kernel.name.clone();
    for (axis, index) in kernel.axes.iter().zip(point) {
        name.push('_');
        name.push_str(&axis.values[*index].name);
    }
    name
}

fn choices_of(kernel: &Kernel, point: &[usize]) -> Vec<AxisChoice> {
    let choice = |(axis, index): (&super::Axis, &usize)| AxisChoice {
        axis: axis.name.clone(),
        phase: axis.phase,
        value: axis.values[*index].name.clone(),
    };
    kernel.axes.iter().zip(point).map(choice).collect()
}

fn grid_of(kernel: &Kernel, point: &[usize]) -> Option<Grid> {
    let form: &GridForm = match &kernel.grid {
        GridDeclaration::Plain(form) => form,
        GridDeclaration::By { axis, forms } => &forms[point[*axis]],
    };
    let integer = |scalar: &Scalar| match scalar {
        Scalar::Int(value) => u32::try_from(*value).ok(),
        _ => None,
    };
    let term = |declaration: &GridTermDeclaration| -> Option<GridTerm> {
        let mut per = 1u32;
        for divisor in &declaration.per {
            per = per.checked_mul(match divisor {
                Divisor::Number(number) => *number,
                Divisor::Axis(axis) => integer(kernel.axes[*axis].values[point[*axis]].scalar.as_ref()?)?,
                Divisor::Field { axis, field } => integer(kernel.axes[*axis].values[point[*axis]].fields.get(field)?)?,
            })?;
        }
        Some(GridTerm { of: declaration.of.clone(), per })
    };
    let terms = |declarations: &[GridTermDeclaration]| declarations.iter().map(term).collect::<Option<Vec<_>>>();
    Some(Grid { x: terms(&form[0])?, y: terms(&form[1])?, z: terms(&form[2])? })
}

fn located(kernel: &Kernel, place: Place, error: ExpressionError) -> Box<FileError> {
    let help = error.help.clone();
    Box::new(FileError::new(&kernel.source, place, error.message).with_help(help))
}
