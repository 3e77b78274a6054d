//! All that went wrong in compiling a set of variants, listed together: one fault in a template breaks
//! many variants, and a person wants to see each fault once with the variants it breaks.

use std::collections::BTreeSet;
use std::fmt;

use indexmap::IndexMap;

use super::static_checks::StaticKind;
use crate::hint;
use crate::notice::count;

/// In which step a variant failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Render,
    Compile,
    Validate,
    Interface,
    /// A fault that a run may not show.
    Static(StaticKind),
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Render => "render",
            Step::Compile => "compile",
            Step::Validate => "validate",
            Step::Interface => "interface",
            Step::Static(kind) => kind.name(),
        }
    }
}

/// One fault of one variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariantFailure {
    pub variant: String,
    /// `templates/lib/texel.glsl.jinja:12` where the line is known: of faults in rendering, and of rendered lines that only
    /// one line of the kernel's templates reads like. Else the kernel's own template, though the line may come from another.
    pub template: String,
    pub step: Step,
    /// Line of the rendered GLSL, from 1, and its text.
    pub rendered: Option<(usize, String)>,
    pub message: String,
    pub help: Option<String>,
}

/// Why a set of variants could not be compiled: every fault of every variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileErrors {
    pub failures: Vec<VariantFailure>,
    pub n_variants: usize,
}

/// Variants that fail alike.
pub struct Fault<'a> {
    pub first: &'a VariantFailure,
    pub variants: Vec<&'a str>,
}

impl CompileErrors {
    /// Number of variants with at least one fault.
    pub fn n_failed(&self) -> usize {
        self.failures.iter().map(|failure| &failure.variant).collect::<BTreeSet<_>>().len()
    }

    /// The failures by fault: equal step, template, message and rendered text. The rendered line number
    /// may differ between variants; that of the first is kept.
    pub fn faults(&self) -> Vec<Fault<'_>> {
        let mut faults: IndexMap<(Step, &str, &str, Option<&str>), Fault> = IndexMap::new();
        for failure in &self.failures {
            let text = failure.rendered.as_ref().map(|(_, text)| text.trim());
            let fault = faults
                .entry((failure.step, &failure.template, &failure.message, text))
                .or_insert(Fault { first: failure, variants: Vec::new() });
            if fault.variants.last() != Some(&failure.variant.as_str()) {
                fault.variants.push(&failure.variant);
            }
        }
        faults.into_values().collect()
    }

    /// The text of the failures; `all`: none left out and no names shortened.
    pub fn listing(&self, all: bool) -> Listing<'_> {
        Listing { errors: self, all }
    }
}

/// Of a fault's variants this many are named, or one more where that spares a line.
const NAMED_VARIANTS: usize = 3;
/// Of the faults whose variants all fail above, this many are told: most of them follow from the faults above.
const FOLLOW_UPS: usize = 5;

/// The failures as a person reads them: by fault, in the order of the lines.
pub struct Listing<'a> {
    errors: &'a CompileErrors,
    /// Every fault and every variant's name.
    all: bool,
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut faults = self.errors.faults();
        faults.sort_by_key(|fault| fault.first.rendered.as_ref().map_or(usize::MAX, |(line, _)| *line));
        write!(
            f,
            "{} of {} failed, with {}",
            self.errors.n_failed(),
            count(self.errors.n_variants, "variant"),
            count(faults.len(), "different fault")
        )?;
        let mut failed: BTreeSet<&str> = BTreeSet::new();
        let mut n_follow_ups = 0;
        for fault in &faults {
            let n_known = failed.len();
            failed.extend(&fault.variants);
            n_follow_ups += usize::from(failed.len() == n_known);
            if self.all || failed.len() > n_known || n_follow_ups <= FOLLOW_UPS {
                self.fault(f, fault)?;
            }
        }
        let n_left_out = n_follow_ups.saturating_sub(FOLLOW_UPS);
        if n_left_out > 0 && !self.all {
            let all = hint::command("check --all");
            write!(f, "\n\nand {} more faults, all of variants that also fail above (`{all}` lists them)", n_left_out)?;
        }
        if let Some(fault) = faults.iter().find(|fault| fault.first.rendered.is_some()) {
            let print = hint::command(&format!("check --glsl {}", fault.first.variant));
            write!(f, "\n\n`{print}` prints the rendered lines")?;
        }
        Ok(())
    }
}

impl Listing<'_> {
    fn fault(&self, f: &mut fmt::Formatter<'_>, fault: &Fault<'_>) -> fmt::Result {
        let VariantFailure { template, step, rendered, message, help, .. } = fault.first;
        write!(f, "\n\n{template}: {}: {message}", step.name())?;
        if let Some((line, text)) = rendered {
            write!(f, "\n  rendered line {line}: {}", text.trim())?;
        }
        if let Some(help) = help {
            write!(f, "\n  help: {help}")?;
        }
        let n = fault.variants.len();
        write!(f, "\n  in {}:", count(n, "variant"))?;
        let n_named = if self.all || n <= NAMED_VARIANTS + 1 { n } else { NAMED_VARIANTS };
        for variant in &fault.variants[..n_named] {
            write!(f, "\n    {variant}")?;
        }
        if n > n_named {
            write!(f, "\n    and {} more", n - n_named)?;
        }
        Ok(())
    }
}

impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listing(false).fmt(f)
    }
}

impl std::error::Error for CompileErrors {}

impl miette::Diagnostic for CompileErrors {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("`{}` lists the same without a sweep", hint::command("check"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(variant: &str, line: usize, message: &str) -> VariantFailure {
        VariantFailure {
            variant: variant.into(),
            template: "templates/a.jinja".into(),
            step: Step::Compile,
            rendered: Some((line, "  x = y;".into())),
            message: message.into(),
            help: None,
        }
    }

    #[test]
    fn equal_faults_are_told_once() {
        let message = "'y' : undeclared identifier";
        let errors =
            CompileErrors { failures: vec![failure("a", 3, message), failure("b", 4, message)], n_variants: 5 };
        assert_eq!(
            errors.to_string(),
            "2 of 5 variants failed, with 1 different fault\n\ntemplates/a.jinja: compile: 'y' : undeclared identifier\n  rendered line 3: x = y;\n  in 2 variants:\n    a\n    b\n\n`tilesmith check --glsl a` prints the rendered lines"
        );
    }

    #[test]
    fn follow_ups_and_long_lists_of_names_are_shortened_unless_all_is_wanted() {
        let names: Vec<String> = (0..20).map(|n| format!("v{n}")).collect();
        let mut failures: Vec<VariantFailure> = Vec::new();
        for name in &names {
            // The last line first: they are told in the order of the lines.
            failures.extend((0..9).rev().map(|n| failure(name, 10 + n, &format!("fault {n}"))));
        }
        failures.push(failure("other", 30, "a fault of its own"));
        let errors = CompileErrors { failures, n_variants: 21 };
        let text = errors.to_string();
        let told: Vec<&str> = text.lines().filter(|line| line.starts_with("templates/")).collect();
        let faults = (0..6).map(|n| format!("templates/a.jinja: compile: fault {n}"));
        assert_eq!(told, faults.chain(["templates/a.jinja: compile: a fault of its own".into()]).collect::<Vec<_>>());
        assert!(text.contains("in 20 variants:\n    v0\n    v1\n    v2\n    and 17 more\n"), "{text}");
        assert!(text.contains("and 3 more faults, all of variants that also fail above"), "{text}");
        let all = errors.listing(true).to_string();
        assert_eq!(all.matches("\n    v19").count(), 9, "{all}");
        assert!(!all.contains(" more"), "{all}");
    }
}
