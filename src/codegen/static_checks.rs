//! Faults that a run may not show and a module shows by itself: a barrier that not all invocations of a workgroup reach,
//! arithmetic at less precision than is claimed, memory that is read or promised and never written. Reads SPIR-V; must not
//! know templates or a device.
//!
//! A driver may run any of them and give the right answer: lavapipe runs the invocations of a workgroup one subgroup after
//! another and never waits at a barrier that some of them left out, and no desktop driver makes use of RelaxedPrecision.
//!
//! **Barriers.** A block runs *divergently* when whether an invocation reaches it hangs on a branch whose condition differs
//! between the invocations of a workgroup: control dependence by post-dominators (Ferrante, Ottenstein, Warren 1987). A value
//! differs when it comes from an invocation's own index, from memory at an address that differs, from an atomic or a subgroup
//! operation, or from the side of a divergent branch that was taken. What is read from buffers, push constants and shared
//! memory at one address for all is taken for equal, so nothing is refused on a guess. The optimiser turns an early `return`
//! into a branch around the rest, so the two are one fault, told apart by the source compiled without it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rspirv::binary::ParseAction;
use rspirv::dr::{Instruction, ModuleHeader, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass};

use super::reflection::ReflectionError;
use super::spirv;
use crate::matrix::{Dtype, Role, Variant};

/// What is wrong with a module, whatever a run of it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StaticKind {
    /// Some invocations may have returned before a barrier that others reach.
    ReturnBeforeBarrier,
    /// A barrier that some invocations of a workgroup may leave out.
    DivergentBarrier,
    /// The module permits half precision where the variant claims f32.
    RelaxedPrecision,
    /// An output that nothing stores to, or shared memory that is read and never written.
    NeverWritten,
}

impl StaticKind {
    pub fn name(self) -> &'static str {
        match self {
            StaticKind::ReturnBeforeBarrier => "return before a barrier",
            StaticKind::DivergentBarrier => "divergent barrier",
            StaticKind::RelaxedPrecision => "relaxed precision",
            StaticKind::NeverWritten => "never written",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFault {
    pub kind: StaticKind,
    /// Line of the rendered source, from 1, where the module has debug information.
    pub line: Option<usize>,
    pub message: String,
}

/// Every fault of a module of `variant`.
pub fn check(spirv_bytes: &[u8], variant: &Variant) -> Result<Vec<StaticFault>, ReflectionError> {
    let mut module = Module::default();
    spirv::parse(spirv_bytes, &mut module)?;
    let mut faults = module.divergent_barriers();
    if variant.accumulate == Dtype::F32 {
        faults.extend(module.relaxed_precision());
    }
    faults.extend(module.never_written(variant));
    Ok(faults)
}

struct Step {
    instruction: Instruction,
    line: Option<usize>,
}

impl Step {
    fn op(&self) -> Op {
        self.instruction.class.opcode
    }

    /// Ids among the operands.
    fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.instruction.operands.iter().filter_map(|operand| match operand {
            Operand::IdRef(id) => Some(*id),
            _ => None,
        })
    }

    fn id(&self, n: usize) -> Option<u32> {
        match self.instruction.operands.get(n)? {
            Operand::IdRef(id) => Some(*id),
            _ => None,
        }
    }
}

struct Block {
    label: u32,
    steps: Vec<Step>,
}

impl Block {
    fn successors(&self) -> Vec<u32> {
        let Some(last) = self.steps.last() else { return Vec::new() };
        match last.op() {
            Op::Branch => last.ids().collect(),
            // The first id is the condition or the selector.
            Op::BranchConditional | Op::Switch => last.ids().skip(1).collect(),
            _ => Vec::new(),
        }
    }

    /// What decides between two ways on, where there are two.
    fn condition(&self) -> Option<u32> {
        let last = self.steps.last()?;
        let distinct: BTreeSet<u32> = self.successors().into_iter().collect();
        (distinct.len() > 1).then(|| last.id(0)).flatten()
    }

    fn returns(&self) -> bool {
        self.steps
            .last()
            .is_some_and(|s| matches!(s.op(), Op::Return | Op::ReturnValue | Op::Kill | Op::TerminateInvocation))
    }
}

#[derive(Default)]
struct Function {
    id: u32,
    blocks: Vec<Block>,
}

#[derive(Default)]
struct Module {
    names: HashMap<u32, String>,
    relaxed: HashSet<u32>,
    built_ins: HashMap<u32, BuiltIn>,
    bindings: HashMap<u32, u32>,
    /// Types with a float in them.
    floats: HashSet<u32>,
    classes: HashMap<u32, StorageClass>,
    functions: Vec<Function>,
    line: Option<usize>,
}

impl rspirv::binary::Consumer for Module {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: Instruction) -> ParseAction {
        self.take(instruction);
        ParseAction::Continue
    }
}

impl Module {
    fn take(&mut self, instruction: Instruction) -> Option<()> {
        let operand = |n: usize| instruction.operands.get(n);
        let id = |n: usize| match operand(n) {
            Some(Operand::IdRef(id)) => Some(*id),
            _ => None,
        };
        match instruction.class.opcode {
            Op::Name => {
                if let Some(Operand::LiteralString(name)) = operand(1) {
                    self.names.insert(id(0)?, name.clone());
                }
            }
            Op::Line => {
                if let Some(Operand::LiteralBit32(line)) = operand(1) {
                    self.line = Some(*line as usize);
                }
            }
            Op::NoLine => self.line = None,
            Op::Decorate => match operand(1) {
                Some(Operand::Decoration(Decoration::RelaxedPrecision)) => {
                    self.relaxed.insert(id(0)?);
                }
                Some(Operand::Decoration(Decoration::BuiltIn)) => {
                    if let Some(Operand::BuiltIn(built_in)) = operand(2) {
                        self.built_ins.insert(id(0)?, *built_in);
                    }
                }
                Some(Operand::Decoration(Decoration::Binding)) => {
                    if let Some(Operand::LiteralBit32(binding)) = operand(2) {
                        self.bindings.insert(id(0)?, *binding);
                    }
                }
                _ => {}
            },
            Op::TypeFloat => {
                self.floats.insert(instruction.result_id?);
            }
            Op::TypeVector | Op::TypeMatrix if self.floats.contains(&id(0)?) => {
                self.floats.insert(instruction.result_id?);
            }
            Op::Function => {
                self.line = None;
                self.functions.push(Function { id: instruction.result_id?, blocks: Vec::new() });
            }
            Op::FunctionParameter | Op::FunctionEnd => {}
            Op::Label => {
                let label = instruction.result_id?;
                self.functions.last_mut()?.blocks.push(Block { label, steps: Vec::new() });
            }
            opcode => {
                if opcode == Op::Variable
                    && let Some(Operand::StorageClass(class)) = operand(0)
                {
                    self.classes.insert(instruction.result_id?, *class);
                }
                let line = self.line;
                if let Some(block) = self.functions.last_mut().and_then(|f| f.blocks.last_mut()) {
                    block.steps.push(Step { instruction, line });
                }
            }
        }
        Some(())
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.steps)
    }

    fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|name| !name.is_empty())
    }

    fn divergent_barriers(&self) -> Vec<StaticFault> {
        // Functions that a barrier is in or behind: a call of one is a barrier too.
        let mut waits: HashSet<u32> = HashSet::new();
        let is_barrier = |step: &Step, waits: &HashSet<u32>| {
            step.op() == Op::ControlBarrier
                || step.op() == Op::FunctionCall && step.id(0).is_some_and(|callee| waits.contains(&callee))
        };
        loop {
            let before = waits.len();
            for function in &self.functions {
                if function.blocks.iter().flat_map(|b| &b.steps).any(|step| is_barrier(step, &waits)) {
                    waits.insert(function.id);
                }
            }
            if waits.len() == before {
                break;
            }
        }
        let mut faults = Vec::new();
        for function in self.functions.iter().filter(|f| waits.contains(&f.id)) {
            let flow = Flow::new(function);
            let divergent = Divergence::new(self, function, &flow);
            for (at, block) in function.blocks.iter().enumerate() {
                let Some(branch) = divergent.why(function, &flow, at) else { continue };
                for step in block.steps.iter().filter(|step| is_barrier(step, &waits)) {
                    let decided = function.blocks[branch].steps.last().and_then(|s| s.line);
                    let by = decided.map(|line| format!(" (decided in line {line})")).unwrap_or_default();
                    let (kind, message) = if flow.leaves(function, branch) {
                        let message = "some invocations of a workgroup may return before this barrier, and the others wait for ever";
                        (StaticKind::ReturnBeforeBarrier, message)
                    } else {
                        let message = "whether an invocation reaches this barrier depends on its index or on what it read; all of a workgroup must";
                        (StaticKind::DivergentBarrier, message)
                    };
                    faults.push(StaticFault { kind, line: step.line, message: format!("{message}{by}") });
                }
            }
        }
        faults
    }

    /// One fault for a module: where one operation is relaxed, many are.
    fn relaxed_precision(&self) -> Option<StaticFault> {
        let is_relaxed = |step: &&Step| {
            let id = step.instruction.result_id.is_some_and(|id| self.relaxed.contains(&id));
            id && step.instruction.result_type.is_some_and(|ty| self.floats.contains(&ty))
        };
        let n = self.steps().filter(is_relaxed).count();
        let first = self.steps().find(is_relaxed)?;
        let operations = if n == 1 { "1 operation" } else { &format!("{n} operations") };
        let message = format!(
            "{operations} may run at half precision (mediump or lowp in the source), and the variant claims to accumulate in f32"
        );
        Some(StaticFault { kind: StaticKind::RelaxedPrecision, line: first.line, message })
    }

    /// The variable that a pointer, or a loaded image, leads back to.
    fn roots(&self) -> HashMap<u32, u32> {
        let mut roots: HashMap<u32, u32> = self.classes.keys().map(|id| (*id, *id)).collect();
        for step in self.steps() {
            let follows = matches!(
                step.op(),
                Op::AccessChain
                    | Op::InBoundsAccessChain
                    | Op::PtrAccessChain
                    | Op::CopyObject
                    | Op::ImageTexelPointer
                    // Of an image: the handle stands for it.
                    | Op::Load
            );
            if let (true, Some(id), Some(base)) = (follows, step.instruction.result_id, step.id(0))
                && let Some(root) = roots.get(&base).copied()
                && (step.op() != Op::Load || self.classes.get(&root) == Some(&StorageClass::UniformConstant))
            {
                roots.insert(id, root);
            }
        }
        roots
    }

    fn never_written(&self, variant: &Variant) -> Vec<StaticFault> {
        let roots = self.roots();
        let root = |id: Option<u32>| id.and_then(|id| roots.get(&id).copied());
        let (mut written, mut read): (HashSet<u32>, BTreeMap<u32, Option<usize>>) = Default::default();
        for step in self.steps() {
            match step.op() {
                Op::Load => {
                    if let Some(variable) = root(step.id(0)) {
                        read.entry(variable).or_insert(step.line);
                    }
                }
                Op::Store | Op::CopyMemory | Op::ImageWrite => written.extend(root(step.id(0))),
                // What a callee does with a pointer is not followed.
                Op::FunctionCall => written.extend(step.ids().filter_map(|id| roots.get(&id).copied())),
                op if format!("{op:?}").starts_with("Atomic") => written.extend(root(step.id(0))),
                _ => {}
            }
        }
        let mut faults = Vec::new();
        let mut never = |line, message| {
            faults.push(StaticFault { kind: StaticKind::NeverWritten, line, message });
        };
        for (n, binding) in variant.bindings.iter().enumerate().filter(|(_, b)| b.role == Role::Output) {
            // Two may share a binding, one to write and one to read.
            let mut variables = self.bindings.iter().filter(|(_, number)| **number as usize == n).peekable();
            if variables.peek().is_some() && variables.all(|(id, _)| !written.contains(id)) {
                never(None, format!("nothing is ever stored to the output {}", binding.name));
            }
        }
        for (variable, line) in read {
            if self.classes.get(&variable) == Some(&StorageClass::Workgroup) && !written.contains(&variable) {
                let name = self.name(variable).map(|name| format!(" {name}")).unwrap_or_default();
                never(line, format!("shared memory{name} is read and never written"));
            }
        }
        faults
    }
}

/// Who follows whom in a function, and on which branches each block depends.
struct Flow {
    index: HashMap<u32, usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// Branching blocks that each block is control dependent on.
    depends: Vec<BTreeSet<usize>>,
}

impl Flow {
    fn new(function: &Function) -> Flow {
        let blocks = &function.blocks;
        let index: HashMap<u32, usize> = blocks.iter().enumerate().map(|(at, b)| (b.label, at)).collect();
        let successors: Vec<Vec<usize>> = blocks
            .iter()
            .map(|b| {
                let mut next: Vec<usize> =
                    b.successors().iter().filter_map(|label| index.get(label).copied()).collect();
                next.sort_unstable();
                next.dedup();
                next
            })
            .collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, next) in successors.iter().enumerate() {
            next.iter().for_each(|to| predecessors[*to].push(from));
        }
        let parents = post_dominators(&successors, &predecessors);
        let mut depends = vec![BTreeSet::new(); blocks.len()];
        for (branch, next) in successors.iter().enumerate().filter(|(_, next)| next.len() > 1) {
            for &first in next {
                // Everything on the way up to where both sides meet again hangs on this branch.
                let mut at = Some(first);
                while let Some(block) = at.filter(|block| Some(*block) != parents[branch]) {
                    if !depends[block].insert(branch) {
                        break;
                    }
                    at = parents[block];
                }
            }
        }
        Flow { index, successors, predecessors, depends }
    }

    /// Whether one side of a branch does nothing but return.
    fn leaves(&self, function: &Function, branch: usize) -> bool {
        self.successors[branch].iter().any(|&first| {
            let mut at = first;
            // A chain of plain branches, as the front end writes it; it cannot be longer than the function.
            for _ in 0..function.blocks.len() {
                if function.blocks[at].returns() && self.predecessors[at].len() == 1 {
                    return !self.depends[at].is_empty();
                }
                match self.successors[at][..] {
                    [only] if self.predecessors[at].len() == 1 => at = only,
                    _ => return false,
                }
            }
            false
        })
    }
}

/// The immediate post-dominator of each block; `None` for those that leave the function, and where none is known (a loop
/// without an exit). The iterative algorithm of Cooper, Harvey and Kennedy (2001) on the reversed graph.
fn post_dominators(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let n = successors.len();
    let exit = n;
    // Reverse postorder of the reversed graph, from a node behind all exits.
    let mut order = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    for start in (0..n).filter(|at| successors[*at].is_empty()) {
        let mut stack = vec![(start, 0)];
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        while let Some((at, next)) = stack.pop() {
            match predecessors[at].get(next) {
                Some(&before) => {
                    stack.push((at, next + 1));
                    if !std::mem::replace(&mut seen[before], true) {
                        stack.push((before, 0));
                    }
                }
                None => order.push(at),
            }
        }
    }
    let mut rank = vec![usize::MAX; n + 1];
    order.iter().enumerate().for_each(|(place, at)| rank[*at] = place);
    rank[exit] = n;
    let mut parent: Vec<Option<usize>> = vec![None; n + 1];
    parent[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &at in order.iter().rev() {
            let exits = successors[at].is_empty().then_some(exit);
            let mut found: Option<usize> = None;
            for next in successors[at].iter().copied().chain(exits).filter(|next| parent[*next].is_some()) {
                found = Some(match found {
                    None => next,
                    Some(other) => meet(other, next, &parent, &rank),
                });
            }
            if found.is_some() && parent[at] != found {
                parent[at] = found;
                changed = true;
            }
        }
    }
    parent.truncate(n);
    parent.into_iter().map(|p| p.filter(|p| *p != exit)).collect()
}

fn meet(mut a: usize, mut b: usize, parent: &[Option<usize>], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            let Some(up) = parent[a] else { return b };
            a = up;
        }
        while rank[b] < rank[a] {
            let Some(up) = parent[b] else { return a };
            b = up;
        }
    }
    a
}

/// Which values differ between the invocations of a workgroup, and which blocks not all of them reach.
struct Divergence {
    values: HashSet<u32>,
    /// For each block, whether its branch is taken by some only.
    branches: Vec<bool>,
    blocks: Vec<bool>,
}

impl Divergence {
    fn new(module: &Module, function: &Function, flow: &Flow) -> Divergence {
        let n = function.blocks.len();
        let roots = module.roots();
        let own_index = module.built_ins.iter().filter(|(_, built_in)| differs(**built_in)).map(|(id, _)| *id);
        let mut divergence =
            Divergence { values: own_index.collect(), branches: vec![false; n], blocks: vec![false; n] };
        while divergence.spread(module, function, flow, &roots) {}
        divergence
    }

    /// One pass over the function; whether anything new came of it.
    fn spread(&mut self, module: &Module, function: &Function, flow: &Flow, roots: &HashMap<u32, u32>) -> bool {
        let before = (self.values.len(), self.branches.clone(), self.blocks.clone());
        for (at, block) in function.blocks.iter().enumerate() {
            for step in &block.steps {
                let differs = match step.op() {
                    Op::Store => {
                        // A variable of an invocation's own differs from then on.
                        let own = step.id(0).and_then(|to| roots.get(&to)).filter(|root| {
                            let class = module.classes.get(root);
                            matches!(class, Some(StorageClass::Function | StorageClass::Private))
                        });
                        if let Some(root) = own
                            && (self.blocks[at] || step.ids().any(|id| self.values.contains(&id)))
                        {
                            self.values.insert(*root);
                        }
                        continue;
                    }
                    Op::Phi => self.phi_differs(flow, at, step),
                    Op::Variable | Op::SelectionMerge | Op::LoopMerge => continue,
                    op if is_per_invocation(op) => true,
                    _ => step.ids().any(|id| self.values.contains(&id)),
                };
                if let (true, Some(id)) = (differs, step.instruction.result_id) {
                    self.values.insert(id);
                }
            }
            self.branches[at] = block.condition().is_some_and(|id| self.values.contains(&id));
        }
        for at in 0..function.blocks.len() {
            self.blocks[at] |= flow.depends[at].iter().any(|branch| self.branches[*branch] || self.blocks[*branch]);
        }
        (self.values.len(), self.branches.clone(), self.blocks.clone()) != before
    }

    /// A value that differs is chosen, or the choice itself differs.
    fn phi_differs(&self, flow: &Flow, at: usize, step: &Step) -> bool {
        // Pairs of a value and the block that it comes from; labels are in no set of values.
        if step.ids().any(|id| self.values.contains(&id)) {
            return true;
        }
        let from = step.ids().filter_map(|id| flow.index.get(&id).copied());
        !self.blocks[at] && from.into_iter().any(|block| self.blocks[block] || self.branches[block])
    }

    /// The divergent branch that a block hangs on, if there is one: of several, one that returns, for whatever comes behind it
    /// counts as divergent too; else one that all of a workgroup reach.
    fn why(&self, function: &Function, flow: &Flow, at: usize) -> Option<usize> {
        let mut found: Option<(u8, usize)> = None;
        let mut open: Vec<usize> = flow.depends[at].iter().copied().collect();
        let mut seen: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(branch) = open.pop() {
            if self.branches[branch] {
                let rank = if flow.leaves(function, branch) { 0 } else { 1 + u8::from(self.blocks[branch]) };
                found = Some(found.map_or((rank, branch), |best| best.min((rank, branch))));
            }
            open.extend(flow.depends[branch].iter().copied().filter(|next| seen.insert(*next)));
        }
        found.map(|(_, branch)| branch)
    }
}

/// Values that the invocations of one workgroup have each for itself.
fn differs(built_in: BuiltIn) -> bool {
    matches!(
        built_in,
        BuiltIn::LocalInvocationId
            | BuiltIn::LocalInvocationIndex
            | BuiltIn::GlobalInvocationId
            | BuiltIn::SubgroupId
            | BuiltIn::SubgroupLocalInvocationId
            | BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask
    )
}

/// Operations whose answer depends on who asks, or when.
fn is_per_invocation(op: Op) -> bool {
    let name = format!("{op:?}");
    name.starts_with("Atomic") || name.starts_with("GroupNonUniform")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::compiler::Compiler;
    use crate::matrix::{Binding, Grid, Layout};

    fn variant(accumulate: Dtype) -> Variant {
        let binding = Binding {
            role: Role::Output,
            name: "t_out".into(),
            layout: Layout::BufC4,
            dtype: Dtype::F32,
            padding: None,
        };
        Variant {
            kernel: "k".into(),
            name: "k".into(),
            axes: Vec::new(),
            accumulate,
            bindings: vec![binding],
            grid: Grid { x: vec![], y: vec![], z: vec![] },
        }
    }

    /// The faults of `main`'s body, with and without the optimiser, which must agree on all but the place.
    fn faults(body: &str) -> Vec<(StaticKind, Option<usize>)> {
        let source = format!(
            "#version 450\nlayout(local_size_x_id = 0, local_size_y_id = 1) in;\n\
             layout(set = 0, binding = 0) buffer B {{ vec4 t_out[]; }};\n\
             layout(push_constant) uniform P {{ int n; }};\n\
             layout(constant_id = 3) const uint fast = 0u;\n\
             shared float s[64];\nshared float other[64];\n{body}"
        );
        let compiler = Compiler::new().unwrap();
        let check = |bytes: Vec<u8>| check(&bytes, &variant(Dtype::F32)).unwrap();
        let plain = check(compiler.compile_for_debugging(&source).unwrap());
        let mut optimised: Vec<StaticKind> = check(compiler.compile(&source).unwrap()).iter().map(|f| f.kind).collect();
        let mut kinds: Vec<StaticKind> = plain.iter().map(|f| f.kind).collect();
        let is_barrier = |k: &StaticKind| matches!(k, StaticKind::ReturnBeforeBarrier | StaticKind::DivergentBarrier);
        assert_eq!(kinds.iter().any(is_barrier), optimised.iter().any(is_barrier), "{plain:?} {optimised:?}");
        kinds.retain(|k| !is_barrier(k));
        optimised.retain(|k| !is_barrier(k));
        assert_eq!(kinds, optimised);
        // Lines of the body count from 1.
        plain.iter().map(|f| (f.kind, f.line.map(|line| line - 7))).collect()
    }

    const INDEX: &str = "const uint i = gl_LocalInvocationIndex;";
    const STORE: &str = "t_out[gl_GlobalInvocationID.x] = vec4(s[63 - i]);";

    #[test]
    fn barriers_that_all_reach_are_fine() {
        for before in [
            // A loop whose length is the same for all, and an exit for whole workgroups.
            "if (gl_WorkGroupID.x >= n) return;\nfor (int k = 0; k < n; ++k) {\ns[i] += 1.0;\nbarrier();\n}",
            // Work for some before a barrier for all.
            "if (i < 32u) s[i] = 2.0; else other[i] = s[0];\nbarrier();",
            "float a[4];\nfor (int k = 0; k < 4; ++k) a[k] = float(i);\ns[i] = a[n & 3];\nbarrier();",
            // Specialised, pushed and read at one address for all.
            "s[i] = 1.0;\nif (fast == 1u) barrier();\nif (n > 3 && t_out[n].x > 0.0) {\nbarrier();\n}",
            "int k = 0;\nwhile (true) {\ns[i] = 1.0;\nbarrier();\nif (++k >= n) break;\n}",
            "s[i] = 1.0;\nbarrier();\nif (i > 7u) return;",
            "switch (n) {\ncase 1: s[i] = 1.0;\nbarrier();\nbreak;\ndefault: s[i] = 2.0;\n}",
        ] {
            assert_eq!(faults(&format!("void main() {{\n{INDEX}\n{before}\n{STORE}\n}}\n")), [], "{before}");
        }
    }

    #[test]
    fn a_return_before_a_barrier_is_seen_with_its_line() {
        let early = "if (gl_GlobalInvocationID.x >= n) return;\ns[i] = 1.0;\nbarrier();";
        let found = faults(&format!("void main() {{\n{INDEX}\n{early}\n{STORE}\n}}\n"));
        assert_eq!(found, [(StaticKind::ReturnBeforeBarrier, Some(5))]);
        // Behind it a loop that is as long for all who are left.
        let before_loop = "if (i >= 40u) return;\nfor (int k = 0; k < n; ++k) {\ns[i] += 1.0;\nbarrier();\n}";
        let found = faults(&format!("void main() {{\n{INDEX}\n{before_loop}\n{STORE}\n}}\n"));
        assert_eq!(found, [(StaticKind::ReturnBeforeBarrier, Some(6))]);
        // In a loop, of which it leaves all.
        let in_loop = "for (int k = 0; k < n; ++k) {\ns[i] = 1.0;\nbarrier();\nif (s[i] > 4.0) return;\n}";
        let found = faults(&format!("void main() {{\n{INDEX}\n{in_loop}\n{STORE}\n}}\n"));
        assert_eq!(found, [(StaticKind::ReturnBeforeBarrier, Some(5))]);
    }

    #[test]
    fn a_barrier_that_some_leave_out_is_seen_however_it_hides() {
        for (line, hidden) in [
            (4, "if (i < 32u) {\nbarrier();\n}\ns[i] = 1.0;"),
            (5, "for (uint k = 0u; k < i; ++k) {\ns[i] = 1.0;\nbarrier();\n}"),
            // By a value that differs because the way to it did.
            (6, "int way = 0;\nif (i < 32u) way = 1;\ns[i] = 1.0;\nif (way == 1) barrier();"),
            // By what was read at an address that differs.
            (4, "s[i] = 1.0;\nif (t_out[i].x > 0.0) barrier();"),
            (5, "s[i] = 1.0;\nwhile (true) {\nbarrier();\nif (s[i] > 0.5) break;\n}"),
            (4, "s[i] = 1.0;\nif (atomicAdd(count, 1u) == 0u) barrier();"),
            (5, "s[i] = 1.0;\nswitch (int(i) & 3) {\ncase 1: barrier();\n}"),
        ] {
            let body = format!("shared uint count; void main() {{\n{INDEX}\n{hidden}\n{STORE}\n}}\n");
            let found = faults(&body);
            assert!(found.iter().any(|f| f.0 == StaticKind::DivergentBarrier), "{hidden}: {found:?}");
            assert!(found.iter().any(|f| f.1 == Some(line)), "{hidden}: {found:?}");
        }
        // In a function that is called by some.
        let body = format!(
            "void meet() {{\nbarrier();\n}}\nvoid main() {{\n{INDEX}\ns[i] = 1.0;\nif (i > 3u) meet();\n{STORE}\n}}\n"
        );
        assert!(!faults(&body).is_empty());
    }

    #[test]
    fn half_precision_is_a_matter_of_the_claim() {
        let body = "void main() {\nmediump float y = float(n);\ny = y * y + 1.0;\nt_out[gl_GlobalInvocationID.x] = vec4(y);\n}\n";
        let found = faults(body);
        assert!(matches!(found[..], [(StaticKind::RelaxedPrecision, Some(line))] if line > 1), "{found:?}");
        let source = format!(
            "#version 450\nlayout(set = 0, binding = 0) buffer B {{ vec4 t_out[]; }};\n\
             layout(push_constant) uniform P {{ int n; }};\n{body}"
        );
        let bytes = Compiler::new().unwrap().compile(&source).unwrap();
        assert_eq!(check(&bytes, &variant(Dtype::F16)).unwrap(), []);
        // Whole numbers lose nothing.
        assert_eq!(faults("void main() {\nmediump int k = n * 3;\nt_out[k] = vec4(1.0);\n}\n"), []);
    }

    #[test]
    fn what_is_never_written_is_named() {
        let found = faults(&format!("void main() {{\n{INDEX}\n{STORE}\n}}\n"));
        assert!(matches!(found[..], [(StaticKind::NeverWritten, Some(_))]), "{found:?}");
        // Read, but stored to elsewhere. An output that is not even read is gone from the module: the interface check says so.
        let elsewhere = "layout(set = 0, binding = 1) buffer C { float c[]; };";
        let found = faults(&format!("{elsewhere} void main() {{\nif (t_out[n].x > 2.0) c[n] = 1.0;\n}}\n"));
        assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), [StaticKind::NeverWritten]);
        // Declared twice, stored to by one of the names; which comes first of a map is chance.
        let twice = "layout(set = 0, binding = 0) buffer Again { vec4 again[]; };";
        for _ in 0..8 {
            let body = format!("{twice} void main() {{\nif (again[n].x > 2.0) t_out[n] = vec4(1.0);\n}}\n");
            assert_eq!(faults(&body), []);
        }
        // An atomic writes too.
        assert_eq!(faults("shared uint c; void main() {\natomicAdd(c, 1u);\nbarrier();\nt_out[n] = vec4(c);\n}\n"), []);
    }
}
