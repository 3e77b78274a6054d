//! All that went wrong in compiling a set of variants, listed together: one fault in a template breaks
//! many variants, and a person wants to see each fault once with the variants it breaks.

use std::fmt;

use indexmap::IndexMap;

use super::project::count;
use super::static_checks::StaticKind;
use crate::hint;

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
    /// `templates/conv2d_pw.comp.jinja`, with `:line` where the template's own line is known.
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
        self.failures.iter().map(|failure| &failure.variant).collect::<std::collections::BTreeSet<_>>().len()
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
}

impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults();
        write!(
            f,
            "{} of {} failed, with {}",
            self.n_failed(),
            count(self.n_variants, "variant"),
            count(faults.len(), "different fault")
        )?;
        for fault in faults {
            let VariantFailure { template, step, rendered, message, help, .. } = fault.first;
            write!(f, "\n\n{template}: {}: {message}", step.name())?;
            if let Some((line, text)) = rendered {
                write!(f, "\n  rendered line {line}: {}", text.trim())?;
            }
            if let Some(help) = help {
                write!(f, "\n  help: {help}")?;
            }
            write!(f, "\n  in {}:", count(fault.variants.len(), "variant"))?;
            for variant in fault.variants {
                write!(f, "\n    {variant}")?;
            }
        }
        Ok(())
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

    #[test]
    fn equal_faults_are_told_once() {
        let failure = |variant: &str, line| VariantFailure {
            variant: variant.into(),
            template: "templates/a.jinja".into(),
            step: Step::Compile,
            rendered: Some((line, "  x = y;".into())),
            message: "'y' : undeclared identifier".into(),
            help: None,
        };
        let errors = CompileErrors { failures: vec![failure("a", 3), failure("b", 4)], n_variants: 5 };
        assert_eq!(
            errors.to_string(),
            "2 of 5 variants failed, with 1 different fault\n\ntemplates/a.jinja: compile: 'y' : undeclared identifier\n  rendered line 3: x = y;\n  in 2 variants:\n    a\n    b"
        );
    }
}
