//! The static check of templates: every variable is defined, every axis is used. Rendering strictly is
//! not enough, since a filter turns an undefined value into nothing. Follows imports and includes; must
//! not render.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::Value;
use minijinja::machinery::{Span, ast, parse};

use super::templates::{CONTEXT, Templates, syntax};
use crate::matrix::Kernel;
use crate::matrix::document::{FileError, Place, Source};
use crate::matrix::expression::{Pattern, Seen, field_problem, is_record, value_problem, walk, walk_arguments};
use crate::matrix::kernel::{Divisor, GridDeclaration};
use crate::matrix::suggestion::{did_you_mean, join_names};

/// What the templates of a kernel use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// The template itself and all that it includes or imports.
    pub templates: BTreeSet<String>,
    pub axes: BTreeSet<String>,
}

/// Checks the templates of a kernel; all problems are listed.
pub fn check(kernel: &Kernel, templates: &Templates) -> Result<Uses, Vec<FileError>> {
    let globals = templates.globals();
    let mut walker = Walker {
        kernel,
        templates,
        globals,
        uses: Uses::default(),
        problems: Vec::new(),
        open: Vec::new(),
        frames: Vec::new(),
    };
    let name = kernel.template.text.clone();
    walker.frames.push(Frame::new());
    walker.file(&name, &kernel.source, kernel.template.place);
    let Walker { mut uses, mut problems, .. } = walker;

    // The interface uses axes too: a weight layout may be all that an axis decides.
    uses.axes.extend(interface_axes(kernel));
    if problems.is_empty() {
        for (axis, place) in kernel.axes.iter().zip(&kernel.axis_places) {
            if !uses.axes.contains(&axis.name) {
                let message =
                    format!("axis {} is used nowhere: not in template, where, bindings, grid or accumulate", axis.name);
                let help =
                    "its values would give the same module under different names; use it or remove it".to_string();
                problems.push(FileError::new(&kernel.source, *place, message).with_help(Some(help)));
            }
        }
    }
    if problems.is_empty() { Ok(uses) } else { Err(problems) }
}

fn interface_axes(kernel: &Kernel) -> BTreeSet<String> {
    let mut axes: BTreeSet<String> =
        kernel.rules.iter().flat_map(|rule| rule.condition.variables.iter().cloned()).collect();
    let patterns =
        kernel.bindings.iter().flat_map(|binding| [&binding.layout, &binding.dtype]).chain([&kernel.accumulate]);
    for text in patterns {
        axes.extend(Pattern::compile(&text.text, &kernel.axes).map(|pattern| pattern.variables).unwrap_or_default());
    }
    let forms = match &kernel.grid {
        GridDeclaration::Plain(form) => std::slice::from_ref(form),
        GridDeclaration::By { axis, forms } => {
            axes.insert(kernel.axes[*axis].name.clone());
            forms
        }
    };
    for divisor in forms.iter().flatten().flatten().flat_map(|term| &term.per) {
        if let Divisor::Axis(axis) | Divisor::Field { axis, .. } = divisor {
            axes.insert(kernel.axes[*axis].name.clone());
        }
    }
    axes
}

/// A name that a template defines itself.
#[derive(Debug, Clone)]
enum Local {
    Plain,
    /// An imported template, and what it exports.
    Module(BTreeSet<String>),
}

type Frame = BTreeMap<String, Local>;

struct Walker<'a> {
    kernel: &'a Kernel,
    templates: &'a Templates,
    globals: Vec<String>,
    uses: Uses,
    problems: Vec<FileError>,
    /// Templates being walked, outermost first: one that includes itself ends here.
    open: Vec<String>,
    frames: Vec<Frame>,
}

impl Walker<'_> {
    /// Walks a template in the present scope. `from` and `at` say who asked for it.
    fn file(&mut self, name: &str, from: &std::sync::Arc<Source>, at: Place) {
        let Some(source) = self.templates.source(name).cloned() else {
            let names: Vec<&str> = self.templates.names().collect();
            let message = format!("no template is called `{name}` (in templates/: {})", join_names(&names));
            self.problems.push(FileError::new(from, at, message).with_help(did_you_mean(name, &names)));
            return;
        };
        if self.open.iter().any(|open| open == name) {
            self.problems.push(FileError::new(
                from,
                at,
                format!("template {name} includes itself ({})", self.open.join(" > ")),
            ));
            return;
        }
        self.uses.templates.insert(name.to_string());
        let parsed = match parse(&source.text, name, syntax()) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.problems.push(*self.templates.located(self.kernel, &error));
                return;
            }
        };
        self.open.push(name.to_string());
        if let ast::Stmt::Template(template) = &parsed {
            self.assign_name("self");
            self.statements(&source, &template.children);
        }
        self.open.pop();
    }

    fn statements(&mut self, file: &std::sync::Arc<Source>, statements: &[ast::Stmt]) {
        for statement in statements {
            self.statement(file, statement);
        }
    }

    fn statement(&mut self, file: &std::sync::Arc<Source>, statement: &ast::Stmt) {
        use ast::Stmt;
        match statement {
            Stmt::Template(inner) => self.statements(file, &inner.children),
            Stmt::EmitExpr(emit) => self.expression(file, &emit.expr),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(each) => {
                self.expression(file, &each.iter);
                self.scoped(|walker| {
                    walker.assign_name("loop");
                    walker.assign(&each.target);
                    if let Some(filter) = &each.filter_expr {
                        walker.expression(file, filter);
                    }
                    walker.statements(file, &each.body);
                });
                self.scoped(|walker| walker.statements(file, &each.else_body));
            }
            Stmt::IfCond(choice) => {
                self.expression(file, &choice.expr);
                // A name set in one branch only is not defined afterwards.
                let when_true = self.scoped(|walker| walker.statements(file, &choice.true_body));
                let when_false = self.scoped(|walker| walker.statements(file, &choice.false_body));
                for (name, local) in when_true.into_iter().filter(|(name, _)| when_false.contains_key(name)) {
                    self.define(name, local);
                }
            }
            Stmt::WithBlock(with) => {
                self.scoped(|walker| {
                    for (target, value) in &with.assignments {
                        walker.expression(file, value);
                        walker.assign(target);
                    }
                    walker.statements(file, &with.body);
                });
            }
            Stmt::Set(set) => {
                self.expression(file, &set.expr);
                self.assign(&set.target);
            }
            Stmt::SetBlock(set) => {
                self.scoped(|walker| walker.statements(file, &set.body));
                if let Some(filter) = &set.filter {
                    self.expression(file, filter);
                }
                self.assign(&set.target);
            }
            Stmt::AutoEscape(block) => {
                self.scoped(|walker| walker.statements(file, &block.body));
            }
            Stmt::FilterBlock(block) => {
                self.expression(file, &block.filter);
                self.scoped(|walker| walker.statements(file, &block.body));
            }
            Stmt::Block(block) => {
                self.scoped(|walker| {
                    walker.assign_name("super");
                    walker.statements(file, &block.body);
                });
            }
            Stmt::Import(import) => {
                let exports = self.import(file, &import.expr, import.span());
                if let ast::Expr::Var(target) = &import.name {
                    self.define(target.id.to_string(), Local::Module(exports));
                }
            }
            Stmt::FromImport(import) => {
                let exports = self.import(file, &import.expr, import.span());
                for (name, alias) in &import.names {
                    if let ast::Expr::Var(name) = name
                        && !exports.contains(name.id)
                    {
                        self.missing_export(file, name.span(), name.id, &exports);
                    }
                    self.assign(alias.as_ref().unwrap_or(name));
                }
            }
            Stmt::Extends(extends) => self.include(file, &extends.name, extends.span()),
            Stmt::Include(include) => self.include(file, &include.name, include.span()),
            Stmt::Macro(declaration) => {
                self.assign_name(declaration.name);
                self.macro_body(file, declaration);
            }
            Stmt::CallBlock(call) => {
                self.expression(file, &call.call.expr);
                walk_arguments(&call.call.args, &mut |seen| self.seen(file, seen));
                self.macro_body(file, &call.macro_decl);
            }
            Stmt::Do(call) => {
                self.expression(file, &call.call.expr);
                walk_arguments(&call.call.args, &mut |seen| self.seen(file, seen));
            }
        }
    }

    fn macro_body(&mut self, file: &std::sync::Arc<Source>, declaration: &ast::Macro) {
        for default in &declaration.defaults {
            self.expression(file, default);
        }
        self.scoped(|walker| {
            walker.assign_name("caller");
            declaration.args.iter().for_each(|argument| walker.assign(argument));
            walker.statements(file, &declaration.body);
        });
    }

    /// Walks an imported template and returns the names that it defines.
    fn import(&mut self, file: &std::sync::Arc<Source>, name: &ast::Expr, span: Span) -> BTreeSet<String> {
        let Some(names) = self.literal_names(file, name, span) else { return BTreeSet::new() };
        let mut exports = BTreeSet::new();
        for name in names {
            let frame = self.scoped(|walker| walker.file(&name, file, place_of(span)));
            exports.extend(frame.into_keys().filter(|name| !name.starts_with('_')));
        }
        exports
    }

    fn include(&mut self, file: &std::sync::Arc<Source>, name: &ast::Expr, span: Span) {
        for name in self.literal_names(file, name, span).unwrap_or_default() {
            self.scoped(|walker| walker.file(&name, file, place_of(span)));
        }
    }

    /// The template names of an import; anything but a literal cannot be followed, and is a problem.
    fn literal_names(&mut self, file: &std::sync::Arc<Source>, name: &ast::Expr, span: Span) -> Option<Vec<String>> {
        if let ast::Expr::Const(constant) = name
            && let Some(name) = constant.value.as_str()
        {
            return Some(vec![name.to_string()]);
        }
        self.problem(
            file,
            span,
            "the name of an imported or included template must be a plain string, so that it can be checked".into(),
            None,
        );
        None
    }

    fn expression(&mut self, file: &std::sync::Arc<Source>, expr: &ast::Expr) {
        walk(expr, &mut |seen| self.seen(file, seen));
    }

    fn seen(&mut self, file: &std::sync::Arc<Source>, seen: Seen) {
        match seen {
            Seen::Variable { name, field, span } => self.variable(file, name, field, span),
            Seen::Compared { name, named, span, value } => self.comparison(file, name, named, span, value),
        }
    }

    fn variable(&mut self, file: &std::sync::Arc<Source>, name: &str, field: Option<&str>, span: Span) {
        match self.local(name) {
            Some(Local::Module(exports)) => {
                let exports = exports.clone();
                if let Some(field) = field.filter(|field| !exports.contains(*field)) {
                    self.missing_export(file, span, field, &exports);
                }
                return;
            }
            Some(Local::Plain) => return,
            None => {}
        }
        if let Some(axis) = self.kernel.axis(name) {
            self.uses.axes.insert(name.to_string());
            if let Some((message, help)) = field.and_then(|field| field_problem(axis, field)) {
                self.problem(file, span, message, help);
            }
            return;
        }
        if CONTEXT.contains(&name) || self.globals.iter().any(|global| global == name) {
            return;
        }
        let mut known: Vec<&str> = self.kernel.axis_names();
        known.extend(CONTEXT);
        let locals: Vec<String> = self.frames.iter().flat_map(|frame| frame.keys().cloned()).collect();
        let help =
            did_you_mean(name, &known.iter().copied().chain(locals.iter().map(String::as_str)).collect::<Vec<_>>());
        self.problem(
            file,
            span,
            format!("`{name}` is not defined here (axes: {})", join_names(&self.kernel.axis_names())),
            help,
        );
    }

    fn comparison(&mut self, file: &std::sync::Arc<Source>, name: &str, named: bool, span: Span, value: &Value) {
        if self.local(name).is_some() {
            return;
        }
        let Some(axis) = self.kernel.axis(name) else { return };
        if is_record(axis) && !named {
            let message = format!(
                "axis {name} has records for values, so comparing it is always false; compare {name}.name or a field"
            );
            self.problem(file, span, message, None);
        } else if let Some((message, help)) = value_problem(axis, value) {
            self.problem(file, span, message, help);
        }
    }

    fn missing_export(&mut self, file: &std::sync::Arc<Source>, span: Span, name: &str, exports: &BTreeSet<String>) {
        let names: Vec<&str> = exports.iter().map(String::as_str).filter(|name| *name != "self").collect();
        self.problem(
            file,
            span,
            format!("the imported template does not define `{name}` (it defines: {})", join_names(&names)),
            did_you_mean(name, &names),
        );
    }

    fn problem(&mut self, file: &std::sync::Arc<Source>, span: Span, message: String, help: Option<String>) {
        let problem = FileError::new(file, place_of(span), message).with_help(help);
        // A macro library is walked once for each import.
        if !self.problems.iter().any(|known| known.to_string() == problem.to_string()) {
            self.problems.push(problem);
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    fn scoped(&mut self, work: impl FnOnce(&mut Self)) -> Frame {
        self.frames.push(Frame::new());
        work(self);
        self.frames.pop().unwrap_or_default()
    }

    fn assign(&mut self, target: &ast::Expr) {
        match target {
            ast::Expr::Var(var) => self.assign_name(var.id),
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.assign(item)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.assign(item)),
            _ => {}
        }
    }

    fn assign_name(&mut self, name: &str) {
        self.define(name.to_string(), Local::Plain);
    }

    fn define(&mut self, name: String, local: Local) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name, local);
        }
    }
}

fn place_of(span: Span) -> Place {
    Place {
        line: usize::from(span.start_line),
        column: usize::from(span.start_col) + 1,
        offset_bytes: span.start_offset as usize,
        size_bytes: span.end_offset.saturating_sub(span.start_offset) as usize,
    }
}
