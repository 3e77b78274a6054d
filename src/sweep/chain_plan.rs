//! From a file of chains to a bundle: each link's variant chosen and compiled. Decides what is asked; must not know a device.

use indexmap::{IndexMap, IndexSet};

use super::chain_file::{ChainFile, FileChain, FileLink};
use super::chains;
use super::plan::{Plan, PlanError, bundled, harness_hashes, shared_bytes};
use crate::codegen::{self, Progress, Project};
use crate::matrix::document::FileError;
use crate::matrix::kernel::Kernel;
use crate::matrix::{Binding, Expansion, Phase, Role, Shrink, Variant};
use crate::ops;
use crate::worker::bundle::{Chain, ChainLink, MANIFEST_SCHEMA, Manifest};

/// Makes the plan of a file of chains.
pub(super) fn plan(project: &Project, file: &ChainFile, progress: Progress) -> Result<Plan, PlanError> {
    let mut expansions: IndexMap<&str, (&Kernel, Expansion)> = IndexMap::new();
    for link in file.chains.iter().flat_map(|chain| &chain.links) {
        if !expansions.contains_key(link.kernel.as_str()) {
            let kernel = project.kernel(&link.kernel)?;
            expansions.insert(&link.kernel, (kernel, project.expand(kernel)?));
        }
    }
    for (axis, (_, place)) in &file.given {
        let known: IndexSet<&str> =
            expansions.values().flat_map(|(kernel, _)| kernel.phase_names(Phase::Given)).collect();
        if !known.contains(axis.as_str()) {
            let known: Vec<&str> = known.into_iter().collect();
            return Err(file
                .document
                .unknown(*place, format!("no link has a given axis `{axis}`"), axis, &known)
                .into());
        }
    }
    let mut used: IndexMap<String, &Variant> = IndexMap::new();
    let mut chosen: Vec<Vec<usize>> = Vec::new();
    for chain in &file.chains {
        let mut of_chain: Vec<usize> = Vec::new();
        for link in &chain.links {
            let (kernel, expansion) = &expansions[link.kernel.as_str()];
            check_accepted(file, link, kernel)?;
            let variant = choose(file, link, kernel, expansion)?;
            of_chain.push(used.insert_full(variant.name.clone(), variant).0);
        }
        let variants: Vec<&Variant> = of_chain.iter().map(|at| used[*at]).collect();
        check_tensors(file, chain, &variants)?;
        chosen.push(of_chain);
    }
    let used: Vec<&Variant> = used.into_values().collect();
    let modules = project.compile(&used, progress)?;
    let harness = codegen::harness::compile()?;
    let mut planned = Vec::new();
    for (chain, of_chain) in file.chains.iter().zip(&chosen) {
        let mut links = Vec::new();
        for (link, &variant) in chain.links.iter().zip(of_chain) {
            let (kernel, _) = &expansions[link.kernel.as_str()];
            let local = link.local.unwrap_or(kernel.reference.local);
            links.push(ChainLink {
                variant,
                local,
                shared_bytes: shared_bytes(&modules[variant], local)?,
                case: link.case.clone(),
                push: kernel.push.clone(),
                spec: kernel.spec.clone(),
                shrink: kernel.shrink,
            });
        }
        planned.push(Chain { id: chain.id.clone(), links });
    }
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA,
        tilesmith: env!("CARGO_PKG_VERSION").to_owned(),
        sweep: file.name.clone(),
        kernel: chains::KERNEL.to_owned(),
        op: chains::KERNEL.to_owned(),
        // Each link has its kernel's.
        push: Vec::new(),
        spec: Vec::new(),
        shrink: Shrink::ToGrid,
        variants: bundled(&used, &modules),
        candidates: Vec::new(),
        given: Vec::new(),
        cases: Vec::new(),
        chains: planned,
        rules: file.rules.clone(),
        seed: file.seed,
        harness: harness_hashes(&harness),
        compiler: codegen::compiler_version(),
        target_env: codegen::TARGET_ENV.to_owned(),
        matrix_hash: project.matrix_hash(),
    };
    Ok(Plan::new(manifest, modules, &harness))
}

fn check_accepted(file: &ChainFile, link: &FileLink, kernel: &Kernel) -> Result<(), PlanError> {
    let at = format!("{}:{}", file.document.source.name, link.place.line);
    let features = ops::features(&link.case).map_err(|source| PlanError::Case { at: at.clone(), source })?;
    if kernel.accepts_case(|name| features.get(name).copied().unwrap_or(0)) {
        return Ok(());
    }
    Err(PlanError::NotAccepted {
        at,
        kernel: kernel.name.clone(),
        case: link.case.id.clone(),
        accepts: kernel.accepts.as_ref().map(ToString::to_string).unwrap_or_default(),
    })
}

/// The variant of a link: given axes as the file says, the others as the link does, else as the kernel's reference.
fn choose<'e>(
    file: &ChainFile,
    link: &FileLink,
    kernel: &Kernel,
    expansion: &'e Expansion,
) -> Result<&'e Variant, Box<FileError>> {
    let document = &file.document;
    let free: Vec<&str> = kernel.reference.axes.iter().map(|choice| choice.axis.as_str()).collect();
    for (axis, _, place) in &link.axes {
        if !free.contains(&axis.as_str()) {
            return Err(document.unknown(
                *place,
                format!("{} has no axis `{axis}` to choose", kernel.name),
                axis,
                &free,
            ));
        }
    }
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    for axis in &kernel.axes {
        let names: Vec<&str> = axis.values.iter().map(|value| value.name.as_str()).collect();
        let own = link.axes.iter().find(|(name, ..)| *name == axis.name).map(|(_, value, place)| (value, *place));
        let given = file.given.get(&axis.name).map(|(value, place)| (value, *place));
        let by_reference = || kernel.reference.axes.iter().find(|c| c.axis == axis.name).map(|c| c.value.as_str());
        let value = match (axis.phase, own, given) {
            (Phase::Given, _, Some((value, place))) | (_, Some((value, place)), _) => {
                if !names.contains(&value.as_str()) {
                    let message = format!("axis {} of {} has no value `{value}`", axis.name, kernel.name);
                    return Err(document.unknown(place, message, value, &names));
                }
                value.as_str()
            }
            (Phase::Given, ..) => {
                let message = format!(
                    "{} needs a value of its given axis {} (allowed: {}): add it to the key `given`",
                    kernel.name,
                    axis.name,
                    names.join(", ")
                );
                return Err(document.error(link.place, message));
            }
            _ => by_reference().unwrap_or_default(),
        };
        wanted.push((&axis.name, value));
    }
    let is_wanted = |v: &&Variant| wanted.iter().all(|(axis, value)| v.axis(axis) == Some(*value));
    expansion.variants.iter().find(is_wanted).ok_or_else(|| {
        let text: Vec<String> = wanted.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let message = format!("no variant of {} has {} (a `where` removes it)", kernel.name, text.join(", "));
        document.error(link.place, message)
    })
}

/// A link reads the very tensor that the one before wrote.
fn check_tensors(file: &ChainFile, chain: &FileChain, variants: &[&Variant]) -> Result<(), Box<FileError>> {
    let of_role = |v: &Variant, role: Role| v.bindings.iter().find(|b| b.role == role).cloned();
    let text = |b: &Option<Binding>| {
        b.as_ref().map_or("nothing".to_owned(), |b| {
            format!("{} of {}", b.layout.name(), format!("{:?}", b.dtype).to_lowercase())
        })
    };
    for (at, pair) in variants.windows(2).enumerate() {
        let (given, needed) = (of_role(pair[0], Role::Output), of_role(pair[1], Role::Input));
        let of = |b: &Option<Binding>| b.as_ref().map(|b| (b.layout, b.dtype));
        if of(&given) != of(&needed) || given.is_none() {
            let message = format!(
                "chain {}: link {} ({}) reads {}, but link {} ({}) writes {}",
                chain.id,
                at + 2,
                pair[1].name,
                text(&needed),
                at + 1,
                pair[0].name,
                text(&given)
            );
            return Err(file.document.error(chain.links[at + 1].place, message));
        }
    }
    Ok(())
}
