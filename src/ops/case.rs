//! Cases as a person gives them: defaults, checks, ids, and the features that rules and push constants
//! are written in. Knows the shape of every op; must not know a tensor's values.

use super::{Case, Fields, IndexMapHash};
use crate::matrix::Dtype;

/// One field of an op, with the value it has when nobody gives one.
struct FieldSpec {
    name: &'static str,
    default: Option<i64>,
    /// Smallest value allowed: 1 for sizes, 0 for what may be absent.
    min: i64,
}

const fn size(name: &'static str) -> FieldSpec {
    FieldSpec { name, default: None, min: 1 }
}

const fn optional(name: &'static str, default: i64, min: i64) -> FieldSpec {
    FieldSpec { name, default: Some(default), min }
}

const CONV2D: &[FieldSpec] = &[
    size("c_in"),
    size("c_out"),
    size("h"),
    size("w"),
    optional("kernel_h", 1, 1),
    optional("kernel_w", 1, 1),
    optional("stride", 1, 1),
    optional("padding", 0, 0),
    optional("groups", 1, 1),
    optional("batch", 1, 1),
    optional("activation", 0, 0),
];

const ELEMENTWISE: &[FieldSpec] =
    &[size("c"), size("h"), size("w"), optional("batch", 1, 1), optional("activation", 0, 0)];

/// The fields of each op in column order. `h` and `w` are the input's.
pub const FIELDS: &[(&str, &[&str])] = &[
    (
        "conv2d",
        &["c_in", "c_out", "h", "w", "kernel_h", "kernel_w", "stride", "padding", "groups", "batch", "activation"],
    ),
    ("elementwise", &["c", "h", "w", "batch", "activation"]),
];

/// The features of each op: what `accepts`, grids, push constants and rules may name.
pub const FEATURES: &[(&str, &[&str])] = &[
    (
        "conv2d",
        &[
            "c_in",
            "c_out",
            "h_in",
            "w_in",
            "h_out",
            "w_out",
            "kernel_h",
            "kernel_w",
            "stride",
            "padding",
            "groups",
            "batch",
            "activation",
            "clamp_min",
            "clamp_max",
            "stride_1_pad_0",
        ],
    ),
    ("elementwise", &["c_out", "h_out", "w_out", "batch", "activation", "clamp_min", "clamp_max"]),
];

/// Names of the activation codes, in the order of their numbers.
pub const ACTIVATIONS: [&str; 5] = ["none", "relu", "clamp", "sigmoid", "silu"];

/// How many of [`ACTIVATIONS`] an op knows.
fn n_activations(op: Op) -> usize {
    match op {
        Op::Conv2d => 3,
        Op::Elementwise => ACTIVATIONS.len(),
    }
}

/// The range of activation `clamp`. Exact in every dtype; random outputs lie beyond both ends, and neither is the zero of relu.
pub const CLAMP_RANGE: [i64; 2] = [-1, 2];

/// The most texels a tensor may have: shaders index with a signed 32-bit int.
const MAX_TEXELS: i64 = i32::MAX as i64;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    #[error("unknown op `{op}` (known: {known}){hint}")]
    UnknownOp { op: String, known: String, hint: String },
    #[error("{op} has no field `{field}` (allowed: {allowed}){hint}")]
    UnknownField { op: String, field: String, allowed: String, hint: String },
    #[error("{op} needs the field `{field}`, which is not given")]
    MissingField { op: String, field: &'static str },
    #[error("field `{field}` is {value} (allowed: {min} and above)")]
    TooSmall { field: &'static str, value: i64, min: i64 },
    #[error("field `{field}` is {value} (allowed: up to {max})")]
    TooLarge { field: &'static str, value: i64, max: i64 },
    #[error("activation is {value} (allowed: {allowed})")]
    Activation { value: i64, allowed: String },
    #[error("field `{field}` is `{text}` (allowed: a whole number{names})")]
    NotANumber { field: String, text: String, names: &'static str },
    #[error(
        "kernel of {kernel} on axis {axis} is larger than the padded input of {padded} (input {input}, padding {padding})"
    )]
    KernelTooLarge { axis: &'static str, kernel: i64, padded: i64, input: i64, padding: i64 },
    #[error("groups is {groups}, which does not divide {field} {channels}")]
    Groups { groups: i64, field: &'static str, channels: i64 },
    #[error("the {tensor} has too many elements to index (allowed: {MAX_TEXELS} texels of 4 channels)")]
    TooManyTexels { tensor: &'static str },
    #[error("the case has more multiply-adds than 64 bits can count")]
    TooMuchWork,
}

impl Case {
    /// A case from the fields a person gave, defaults filled in, checked, with its id.
    pub fn new(op: &str, given: &Fields) -> Result<Case, CaseError> {
        let specs = specs_of(op)?;
        let mut fields = Fields::new();
        for name in given.keys() {
            if !specs.iter().any(|s| s.name == name.as_str()) {
                let names: Vec<&str> = specs.iter().map(|s| s.name).collect();
                return Err(CaseError::UnknownField {
                    op: op.to_owned(),
                    field: name.clone(),
                    allowed: names.join(", "),
                    hint: suggestion(name, &names),
                });
            }
        }
        for spec in specs {
            let value = match given.get(spec.name).copied().or(spec.default) {
                Some(value) => value,
                None => return Err(CaseError::MissingField { op: op.to_owned(), field: spec.name }),
            };
            if value < spec.min {
                return Err(CaseError::TooSmall { field: spec.name, value, min: spec.min });
            }
            if value > MAX_TEXELS {
                return Err(CaseError::TooLarge { field: spec.name, value, max: MAX_TEXELS });
            }
            fields.insert(spec.name.to_owned(), value);
        }
        let mut case = Case { op: op.to_owned(), id: String::new(), fields: IndexMapHash(fields) };
        Conv2dShape::of(&case)?;
        case.id = id(&case);
        Ok(case)
    }

    /// The same from pairs, for cases written in code.
    pub fn from_pairs(op: &str, pairs: &[(&str, i64)]) -> Result<Case, CaseError> {
        let given: Fields = pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Case::new(op, &given)
    }

    /// The case with activation `none`: relu zeroes faults away and clamp saturates them.
    pub fn without_activation(&self) -> Case {
        let mut case = self.clone();
        if let Some(activation) = case.fields.0.get_mut("activation") {
            *activation = 0;
        }
        case.id = id(&case);
        case
    }
}

/// A value as it stands in YAML or CSV: a whole number, or the name of an activation.
pub fn parse_value(field: &str, text: &str) -> Result<i64, CaseError> {
    let text = text.trim();
    if let Ok(value) = text.parse::<i64>() {
        return Ok(value);
    }
    let is_activation = field == "activation";
    if is_activation && let Some(code) = ACTIVATIONS.iter().position(|name| *name == text) {
        return Ok(code as i64);
    }
    let names = if is_activation { ", or the name of an activation" } else { "" };
    Err(CaseError::NotANumber { field: field.to_owned(), text: text.to_owned(), names })
}

/// The features of a case by name: its fields, and what follows from them.
pub fn features(case: &Case) -> Result<Fields, CaseError> {
    let s = Conv2dShape::of(case)?;
    let i = |value: usize| value as i64;
    let pairs = [
        ("c_in", i(s.c_in)),
        ("c_out", i(s.c_out)),
        ("h_in", i(s.h_in)),
        ("w_in", i(s.w_in)),
        ("h_out", i(s.h_out)),
        ("w_out", i(s.w_out)),
        ("kernel_h", i(s.kernel_h)),
        ("kernel_w", i(s.kernel_w)),
        ("stride", i(s.stride)),
        ("padding", i(s.padding)),
        ("groups", i(s.groups)),
        ("batch", i(s.batch)),
        ("activation", s.activation as i64),
        ("clamp_min", CLAMP_RANGE[0]),
        ("clamp_max", CLAMP_RANGE[1]),
        ("stride_1_pad_0", i64::from(s.stride == 1 && s.padding == 0)),
    ];
    let offered = |name: &str| FEATURES.iter().any(|(op, names)| *op == case.op && names.contains(&name));
    Ok(pairs.into_iter().filter(|(name, _)| offered(name)).map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Floating-point operations of a case: two for each multiply-add, terms in the zero padding included; one for each element
/// of an elementwise op.
pub fn flops(case: &Case) -> Result<u64, CaseError> {
    let s = Conv2dShape::of(case)?;
    Ok(match s.op {
        Op::Conv2d => 2 * s.n_output() as u64 * s.n_terms() as u64,
        Op::Elementwise => s.n_output() as u64,
    })
}

/// Bytes that must move at least once: input, weights, bias and output, each element once.
pub fn bytes_moved(case: &Case, dtype: Dtype) -> Result<u64, CaseError> {
    let s = Conv2dShape::of(case)?;
    let n_constant = match s.op {
        Op::Conv2d => s.n_weight() + s.c_out,
        Op::Elementwise => 0,
    };
    let n_elements = s.n_input() + n_constant + s.n_output();
    Ok(n_elements as u64 * dtype.size_bytes() as u64)
}

/// What happens to a sum before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    None,
    Relu,
    /// To [`CLAMP_RANGE`].
    Clamp,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `x / (1 + exp(-x))`
    Silu,
}

impl Activation {
    /// Whether whole numbers stay whole numbers.
    pub fn is_exact(self) -> bool {
        matches!(self, Activation::None | Activation::Relu | Activation::Clamp)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Conv2d,
    /// An activation alone.
    Elementwise,
}

/// The shape of a case, checked: nothing derived from it overflows. An elementwise op is the convolution that it equals:
/// 1 x 1, each channel a group of its own, weights of one and no bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2dShape {
    pub op: Op,
    pub batch: usize,
    pub c_in: usize,
    pub c_out: usize,
    pub h_in: usize,
    pub w_in: usize,
    pub h_out: usize,
    pub w_out: usize,
    pub kernel_h: usize,
    pub kernel_w: usize,
    pub stride: usize,
    pub padding: usize,
    pub groups: usize,
    pub activation: Activation,
}

impl Conv2dShape {
    pub fn of(case: &Case) -> Result<Self, CaseError> {
        let specs = specs_of(&case.op)?;
        let op = if case.op == "elementwise" { Op::Elementwise } else { Op::Conv2d };
        let field = |name: &'static str| -> Result<i64, CaseError> {
            let name = match (op, name) {
                (Op::Elementwise, "c_in" | "c_out" | "groups") => "c",
                (Op::Elementwise, "kernel_h" | "kernel_w" | "stride") => return Ok(1),
                (Op::Elementwise, "padding") => return Ok(0),
                _ => name,
            };
            let value =
                *case.fields.0.get(name).ok_or_else(|| CaseError::MissingField { op: case.op.clone(), field: name })?;
            match specs.iter().find(|s| s.name == name) {
                Some(spec) if value < spec.min => Err(CaseError::TooSmall { field: name, value, min: spec.min }),
                _ if value > MAX_TEXELS => Err(CaseError::TooLarge { field: name, value, max: MAX_TEXELS }),
                _ => Ok(value),
            }
        };
        let (stride, padding, groups) = (field("stride")?, field("padding")?, field("groups")?);
        let extent = |axis: &'static str, input: i64, kernel: i64| -> Result<i64, CaseError> {
            let padded = input + 2 * padding;
            if kernel > padded {
                return Err(CaseError::KernelTooLarge { axis, kernel, padded, input, padding });
            }
            Ok((padded - kernel) / stride + 1)
        };
        let (c_in, c_out, batch) = (field("c_in")?, field("c_out")?, field("batch")?);
        let (h_in, w_in) = (field("h")?, field("w")?);
        let (kernel_h, kernel_w) = (field("kernel_h")?, field("kernel_w")?);
        let (h_out, w_out) = (extent("y", h_in, kernel_h)?, extent("x", w_in, kernel_w)?);
        for (name, channels) in [("c_in", c_in), ("c_out", c_out)] {
            if channels % groups != 0 {
                return Err(CaseError::Groups { groups, field: name, channels });
            }
        }
        let activation = match field("activation")? {
            0 => Activation::None,
            1 => Activation::Relu,
            2 => Activation::Clamp,
            3 if op == Op::Elementwise => Activation::Sigmoid,
            4 if op == Op::Elementwise => Activation::Silu,
            value => {
                let known = ACTIVATIONS.iter().take(n_activations(op)).enumerate();
                let allowed: Vec<String> = known.map(|(code, name)| format!("{code} {name}")).collect();
                return Err(CaseError::Activation { value, allowed: allowed.join(", ") });
            }
        };
        let texels = |tensor: &'static str, extents: [i64; 4]| -> Result<(), CaseError> {
            // The channels are rounded up to whole texels; one texel is 4 of them.
            let n_texels = extents.iter().try_fold(1i64, |product, e| product.checked_mul(*e));
            match n_texels {
                Some(n) if n <= MAX_TEXELS => Ok(()),
                _ => Err(CaseError::TooManyTexels { tensor }),
            }
        };
        let texels4 = |channels: i64| (channels + 3) / 4;
        texels("input", [batch, texels4(c_in), h_in, w_in])?;
        texels("output", [batch, texels4(c_out), h_out, w_out])?;
        texels("weight", [4 * texels4(c_out), texels4(c_in / groups), kernel_h, kernel_w])?;
        // Below, products of four factors stay under 2^33 elements each; only the work can still overflow.
        let n_terms = (c_in / groups).checked_mul(kernel_h * kernel_w).ok_or(CaseError::TooMuchWork)?;
        let n_output = batch * c_out * h_out * w_out;
        n_output.checked_mul(n_terms).and_then(|macs| macs.checked_mul(2)).ok_or(CaseError::TooMuchWork)?;
        let u = |value: i64| value as usize;
        Ok(Self {
            op,
            batch: u(batch),
            c_in: u(c_in),
            c_out: u(c_out),
            h_in: u(h_in),
            w_in: u(w_in),
            h_out: u(h_out),
            w_out: u(w_out),
            kernel_h: u(kernel_h),
            kernel_w: u(kernel_w),
            stride: u(stride),
            padding: u(padding),
            groups: u(groups),
            activation,
        })
    }

    /// Products in the sum of one output element: the K of the bounds.
    pub fn n_terms(&self) -> usize {
        self.c_in / self.groups * self.kernel_h * self.kernel_w
    }

    pub fn n_input(&self) -> usize {
        self.batch * self.c_in * self.h_in * self.w_in
    }

    pub fn n_weight(&self) -> usize {
        self.c_out * self.n_terms()
    }

    pub fn n_output(&self) -> usize {
        self.batch * self.c_out * self.h_out * self.w_out
    }

    /// Memory of one set of operands, as the host holds them. Each tensor has less than 2^33 elements, so this fits.
    pub fn operand_bytes(&self) -> u64 {
        (self.n_input() as u64 + self.n_weight() as u64 + self.c_out as u64) * size_of::<f32>() as u64
    }

    /// `[N, C, H, W]`
    pub fn input_dims(&self) -> [usize; 4] {
        [self.batch, self.c_in, self.h_in, self.w_in]
    }

    /// `[N, C, H, W]`
    pub fn output_dims(&self) -> [usize; 4] {
        [self.batch, self.c_out, self.h_out, self.w_out]
    }

    /// `[OC, IC / groups, KH, KW]`
    pub fn weight_dims(&self) -> [usize; 4] {
        [self.c_out, self.c_in / self.groups, self.kernel_h, self.kernel_w]
    }
}

fn specs_of(op: &str) -> Result<&'static [FieldSpec], CaseError> {
    match op {
        "conv2d" => return Ok(CONV2D),
        "elementwise" => return Ok(ELEMENTWISE),
        _ => {}
    }
    let known: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    Err(CaseError::UnknownOp { op: op.to_owned(), known: known.join(", "), hint: suggestion(op, &known) })
}

/// `48-96-16x16` or `48-16x16`, and a suffix for everything that is not at its default.
fn id(case: &Case) -> String {
    let field = |name: &str| case.fields.0.get(name).copied();
    let mut id: String =
        ["c_in", "c_out", "c"].into_iter().filter_map(field).map(|channels| format!("{channels}-")).collect();
    id += &format!("{}x{}", field("h").unwrap_or_default(), field("w").unwrap_or_default());
    match (field("kernel_h").unwrap_or(1), field("kernel_w").unwrap_or(1)) {
        (1, 1) => {}
        (h, w) if h == w => id += &format!("_k{h}"),
        (h, w) => id += &format!("_k{h}x{w}"),
    }
    for (name, default, letter) in [("stride", 1, 's'), ("padding", 0, 'p'), ("groups", 1, 'g'), ("batch", 1, 'b')] {
        if let Some(value) = field(name).filter(|value| *value != default) {
            id += &format!("_{letter}{value}");
        }
    }
    let code = field("activation").and_then(|code| usize::try_from(code).ok()).filter(|code| *code > 0);
    if let Some(name) = code.and_then(|code| ACTIVATIONS.get(code)) {
        id += &format!("_{name}");
    }
    id
}

/// `; did you mean ...?` when a known name is near enough, else nothing.
fn suggestion(given: &str, known: &[&str]) -> String {
    let near = known.iter().map(|name| (edit_distance(given, name), *name)).min();
    match near {
        Some((distance, name)) if distance <= 1 + given.len() / 4 => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(pairs: &[(&str, i64)]) -> Result<Case, CaseError> {
        Case::from_pairs("conv2d", pairs)
    }

    const SMALL: [(&str, i64); 4] = [("c_in", 13), ("c_out", 27), ("h", 9), ("w", 7)];

    fn with(extra: &[(&str, i64)]) -> Result<Case, CaseError> {
        conv(&[&SMALL, extra].concat())
    }

    #[test]
    fn the_id_shows_only_what_is_not_default() {
        assert_eq!(with(&[]).unwrap().id, "13-27-9x7");
        assert_eq!(with(&[("stride", 2), ("padding", 1), ("batch", 2)]).unwrap().id, "13-27-9x7_s2_p1_b2");
        assert_eq!(with(&[("kernel_h", 3), ("kernel_w", 3), ("activation", 1)]).unwrap().id, "13-27-9x7_k3_relu");
        assert_eq!(with(&[("kernel_h", 3), ("kernel_w", 5)]).unwrap().id, "13-27-9x7_k3x5");
        assert_eq!(with(&[("activation", 2)]).unwrap().without_activation(), with(&[]).unwrap());
    }

    #[test]
    fn fields_and_features_are_the_declared_ones_in_order() {
        let case = with(&[("stride", 2), ("padding", 1)]).unwrap();
        assert!(case.fields.0.keys().map(String::as_str).eq(FIELDS[0].1.iter().copied()));
        let features = features(&case).unwrap();
        assert!(features.keys().map(String::as_str).eq(FEATURES[0].1.iter().copied()));
        assert_eq!((features["h_out"], features["w_out"], features["stride_1_pad_0"]), (6, 5, 0));
        assert_eq!((features["clamp_min"], features["clamp_max"]), (-1, 2));
    }

    #[test]
    fn an_elementwise_op_is_a_convolution_of_ones() {
        let case = Case::from_pairs("elementwise", &[("c", 13), ("h", 9), ("w", 7), ("activation", 4)]).unwrap();
        assert_eq!((case.id.as_str(), case.without_activation().id.as_str()), ("13-9x7_silu", "13-9x7"));
        assert!(case.fields.0.keys().map(String::as_str).eq(FIELDS[1].1.iter().copied()));
        assert!(features(&case).unwrap().keys().map(String::as_str).eq(FEATURES[1].1.iter().copied()));
        let shape = Conv2dShape::of(&case).unwrap();
        assert_eq!((shape.n_terms(), shape.groups, shape.output_dims()), (1, 13, [1, 13, 9, 7]));
        assert_eq!((flops(&case), bytes_moved(&case, Dtype::F32)), (Ok(13 * 63), Ok(2 * 13 * 63 * 4)));
        let refused = with(&[("activation", 4)]).unwrap_err().to_string();
        assert_eq!(refused, "activation is 4 (allowed: 0 none, 1 relu, 2 clamp)");
    }

    #[test]
    fn what_a_person_gets_wrong_is_named() {
        let message = |result: Result<Case, CaseError>| result.unwrap_err().to_string();
        assert!(message(with(&[("strid", 2)])).ends_with("did you mean `stride`?"));
        assert!(message(Case::from_pairs("conv2", &SMALL)).contains("did you mean `conv2d`?"));
        assert_eq!(message(conv(&SMALL[..3])), "conv2d needs the field `w`, which is not given");
        assert_eq!(message(with(&[("h", 0)])), "field `h` is 0 (allowed: 1 and above)");
        assert_eq!(message(with(&[("padding", -1)])), "field `padding` is -1 (allowed: 0 and above)");
        assert!(message(with(&[("kernel_h", 10)])).starts_with("kernel of 10 on axis y is larger"));
        assert!(message(with(&[("groups", 2)])).contains("does not divide c_in 13"));
        assert!(message(with(&[("activation", 3)])).contains("2 clamp"));
        assert!(parse_value("stride", "two").unwrap_err().to_string().contains("a whole number"));
        assert_eq!(parse_value("activation", "relu"), Ok(1));
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let huge = i64::from(i32::MAX);
        assert!(matches!(with(&[("h", huge + 1)]), Err(CaseError::TooLarge { .. })));
        assert!(matches!(with(&[("h", i64::MAX)]), Err(CaseError::TooLarge { .. })));
        assert_eq!(with(&[("h", huge)]), Err(CaseError::TooManyTexels { tensor: "input" }));
        assert_eq!(with(&[("padding", 100_000)]), Err(CaseError::TooManyTexels { tensor: "output" }));
        assert_eq!(with(&[("c_out", huge)]), Err(CaseError::TooManyTexels { tensor: "output" }));
        let tall = [("h", 1), ("w", 1), ("c_in", huge), ("c_out", huge)];
        assert_eq!(with(&tall), Err(CaseError::TooManyTexels { tensor: "weight" }));
    }

    #[test]
    fn work_and_traffic_count_each_element() {
        let case = with(&[("batch", 2)]).unwrap();
        assert_eq!(flops(&case).unwrap(), 2 * 13 * 27 * 63 * 2);
        let n_elements = 2 * 13 * 63 + 13 * 27 + 27 + 2 * 27 * 63;
        assert_eq!(bytes_moved(&case, Dtype::F16).unwrap(), 2 * n_elements);
    }
}
