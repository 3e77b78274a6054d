//! The sweep file of chains: which operations follow one another, and how often they are replayed. Reads and checks what
//! a person wrote, and says where it is wrong; must not expand or compile.

use std::path::Path;

use indexmap::IndexMap;

use super::file::{self, SweepFileError};
use crate::matrix::document::{Document, FileError, Node, Place};
use crate::matrix::kernel::Kernel;
use crate::ops::case::{Conv2dShape, parse_value};
use crate::ops::{Case, FIELDS, Fields, chain};
use crate::worker::bundle::Rules;

/// Rounds of a chain by default, and replays in each: what the first report of such a fault used.
const ROUNDS: u32 = 12;
const REPLAYS: u32 = 200;

#[derive(Debug, Clone)]
pub struct FileLink {
    pub kernel: String,
    pub place: Place,
    /// Axis values that differ from the kernel's reference.
    pub axes: Vec<(String, String, Place)>,
    /// The reference's, when `None`.
    pub local: Option<[u32; 3]>,
    pub case: Case,
}

#[derive(Debug, Clone)]
pub struct FileChain {
    pub id: String,
    pub links: Vec<FileLink>,
}

#[derive(Debug, Clone)]
pub struct ChainFile {
    /// Stem of the file's name; names the results.
    pub name: String,
    pub document: Document,
    /// Values of the given axes of every link's kernel.
    pub given: IndexMap<String, (String, Place)>,
    pub chains: Vec<FileChain>,
    pub rules: Rules,
    pub seed: u64,
}

/// Reads a file of chains; `None` where it has no key `chains`, and is an ordinary sweep.
///
/// # Errors
/// What the file says wrong, and where.
pub fn load(path: &Path, project: &Path, kernels: &[Kernel]) -> Result<Option<ChainFile>, SweepFileError> {
    let (name, document) = file::read_document(path, project)?;
    let is_of_chains = document.entries(&document.root, "the sweep")?.iter().any(|(key, _)| key.name == "chains");
    if is_of_chains { Ok(Some(read(name, document, kernels)?)) } else { Ok(None) }
}

fn read(name: String, document: Document, kernels: &[Kernel]) -> Result<ChainFile, Box<FileError>> {
    let top = document.fields(
        &document.root,
        "a sweep of chains",
        &["schema", "input", "given", "replay", "chains", "seed", "stop"],
    )?;
    file::check_schema(&document, &top)?;
    let seed = file::read_seed(&document, &top)?;
    // Rules of races and finalists say nothing here.
    let mut rules = file::read_rules(&document, &top)?;
    (rules.min_rounds, rules.max_rounds, rules.finalist_replays) = (ROUNDS, ROUNDS, REPLAYS);
    if let Some(node) = top.get("replay") {
        let fields = document.fields(node, "replay", &["rounds", "replays"])?;
        if let Some(node) = fields.get("rounds") {
            rules.max_rounds = document.integer(node, "rounds", 1)?;
            rules.min_rounds = rules.max_rounds;
        }
        if let Some(node) = fields.get("replays") {
            // Two operand sets alternate, each of which must be able to differ from itself.
            rules.finalist_replays = document.integer(node, "replays", 4)?;
        }
    }
    let mut given = IndexMap::new();
    if let Some(node) = top.get("given") {
        for (key, value) in document.entries(node, "given")? {
            given.insert(key.name.clone(), (document.text(value, &key.name)?, key.place));
        }
    }
    let input = read_input(&document, top.require("input")?)?;
    let mut chains = Vec::new();
    let node = top.require("chains")?;
    for (key, value) in document.entries(node, "chains")? {
        chains.push(read_chain(&document, &key.name, key.place, value, input, kernels)?);
    }
    if chains.is_empty() {
        return Err(document.error(node.place, "there is no chain"));
    }
    Ok(ChainFile { name, given, chains, rules, seed, document: document.clone() })
}

/// `[N, C, H, W]` of what every first link takes.
fn read_input(document: &Document, node: &Node) -> Result<[i64; 4], Box<FileError>> {
    let fields = document.fields(node, "input", &["batch", "c", "h", "w"])?;
    let size = |name: &str| Ok::<_, Box<FileError>>(i64::from(document.integer(fields.require(name)?, name, 1)?));
    let batch = match fields.get("batch") {
        Some(node) => i64::from(document.integer(node, "batch", 1)?),
        None => 1,
    };
    Ok([batch, size("c")?, size("h")?, size("w")?])
}

fn read_chain(
    document: &Document,
    id: &str,
    place: Place,
    node: &Node,
    input: [i64; 4],
    kernels: &[Kernel],
) -> Result<FileChain, Box<FileError>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if id.is_empty() || !id.chars().all(is_plain) {
        return Err(document.error(place, format!("chain `{id}` is no name (allowed: ascii letters, digits and _)")));
    }
    let mut links: Vec<FileLink> = Vec::new();
    let mut reaching = input;
    for item in document.list(node, &format!("chain {id}"))? {
        let link = read_link(document, item, reaching, kernels)?;
        let shape = Conv2dShape::of(&link.case).map_err(|e| document.error(item.place, e.to_string()))?;
        reaching = shape.output_dims().map(|extent| extent as i64);
        links.push(link);
    }
    let cases: Vec<&Case> = links.iter().map(|link| &link.case).collect();
    chain::check(&cases).map_err(|e| document.error(node.place, format!("chain {id}: {e}")))?;
    Ok(FileChain { id: id.to_owned(), links })
}

/// One link: its kernel, what differs from the kernel's reference, and the fields of its case. What reaches it is known.
fn read_link(
    document: &Document,
    node: &Node,
    reaching: [i64; 4],
    kernels: &[Kernel],
) -> Result<FileLink, Box<FileError>> {
    let entries = document.entries(node, "a link")?;
    let find = |name: &str| entries.iter().find(|(key, _)| key.name == name);
    let Some((_, kernel_node)) = find("kernel") else {
        return Err(document.error(node.place, "a link lacks the key `kernel`"));
    };
    let name = document.text(kernel_node, "kernel")?;
    let Some(kernel) = kernels.iter().find(|kernel| kernel.name == name) else {
        let known: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        return Err(document.unknown(kernel_node.place, format!("there is no kernel `{name}`"), &name, &known));
    };
    let known: &[&str] = FIELDS.iter().find(|(op, _)| *op == kernel.op).map_or(&[], |(_, fields)| fields);
    let mut axes = Vec::new();
    let mut local = None;
    let mut fields = Fields::new();
    for (key, value) in entries {
        match key.name.as_str() {
            "kernel" => {}
            "axes" => {
                for (axis, value) in document.entries(value, "axes")? {
                    axes.push((axis.name.clone(), document.text(value, &axis.name)?, axis.place));
                }
            }
            "local" => local = Some(file::read_local_size(document, value)?),
            field if known.contains(&field) => {
                let text = document.text(value, field)?;
                let parsed = parse_value(field, &text).map_err(|e| document.error(value.place, e.to_string()))?;
                fields.insert(field.to_owned(), parsed);
            }
            other => {
                let allowed: Vec<&str> = ["kernel", "axes", "local"].iter().chain(known).copied().collect();
                return Err(document.unknown(key.place, format!("unknown key `{other}` in a link"), other, &allowed));
            }
        }
    }
    let [batch, c, h, w] = reaching;
    for (field, value) in [("batch", batch), ("c_in", c), ("c", c), ("h", h), ("w", w)] {
        if known.contains(&field) {
            fields.entry(field.to_owned()).or_insert(value);
        }
    }
    let case = Case::new(&kernel.op, &fields).map_err(|e| document.error(node.place, e.to_string()))?;
    Ok(FileLink { kernel: name, place: node.place, axes, local, case })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_chains_are_refused_without_a_panic() {
        let text = "schema: 1\ninput: {c: 8, h: 4, w: 4}\nchains:\n  a: [{kernel: nothing}]\n";
        for cut in 0..text.len() {
            if let Ok(document) = Document::parse("t.yaml", &text[..cut]) {
                assert!(read("t".to_owned(), document, &[]).is_err(), "{}", &text[..cut]);
            }
        }
    }
}
